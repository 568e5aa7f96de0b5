import { type ReadFiles, readClientToken, readTls, type TlsPaths } from '../access/index.js';
import { fault, option, type ToldFaults } from '../formats/index.js';

/** ClientAccessOptions says what a client sends and shows to be let in, and whom it trusts. */
export interface ClientAccessOptions extends TlsPaths {
  /** Headers of every request, each as `Name: value`. */
  readonly headers?: readonly string[] | undefined;
  /** A file with the token that is sent as Bearer. */
  readonly tokenFile?: string | undefined;
  /** insecure says whether the certificate of the server is not looked at. */
  readonly insecure?: boolean | undefined;
}

/** ClientAccess is what these options come to. */
export interface ClientAccess {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: ReadFiles['tls'] & { readonly rejectUnauthorized?: boolean };
  readonly warnings: readonly string[];
}

/** NO_ACCESS shows nothing. */
export const NO_ACCESS: ClientAccess = { headers: {}, tls: {}, warnings: [] };

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/;
/** The headers that the client itself sends with each request and connection. */
const OWN_HEADERS = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'inference-header-content-length',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * readClientAccess reads the files of these options. It adds every fault to `told`, and gives undefined where there is one.
 */
export async function readClientAccess(
  url: string,
  options: ClientAccessOptions,
  told: ToldFaults,
): Promise<ClientAccess | undefined> {
  const before = told.count;
  const { tokenFile, insecure = false, sslCaCerts } = options;
  const headers = readHeaders(options.headers ?? [], told);
  const isTls = ['sslCertfile', 'sslKeyfile', 'sslCaCerts', 'insecure'] as const;
  if (/^http:/i.test(url))
    for (const name of isTls)
      if (options[name]) told.add(fault(`is for https, and the server is ${url}`, option(name)));
  if (insecure && sslCaCerts !== undefined)
    told.add(
      fault(`looks at no certificate, and ${option('sslCaCerts')} names who signs it`, option('insecure')),
    );
  if (tokenFile !== undefined && 'authorization' in headers)
    told.add(fault(`gives a token, and so does ${option('headers', 'Authorization')}`, option('tokenFile')));
  const files = await readTls(options, told);
  const token = tokenFile === undefined ? undefined : await readClientToken(tokenFile, told);
  if (told.count > before || files === undefined) return undefined;
  const unchecked = `${option('insecure')}: whoever answers at ${url} is taken for the server`;
  return {
    headers: { ...headers, ...(token && { authorization: `Bearer ${token.token}` }) },
    tls: { ...files.tls, ...(insecure && { rejectUnauthorized: false }) },
    warnings: [...files.warnings, ...(token?.warnings ?? []), ...(insecure ? [unchecked] : [])],
  };
}

function readHeaders(lines: readonly string[], told: ToldFaults): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value = ''] = HEADER.exec(line) ?? [];
    const key = name?.toLowerCase() ?? '';
    // The value may be a secret.
    if (name === undefined)
      told.add(
        fault('is not a header, such as "X-Tenant: a"', option('headers', /^[^\s:]*/.exec(line)?.[0] ?? '')),
      );
    else if (OWN_HEADERS.has(key))
      told.add(fault('is a header that the client writes itself', option('headers', name)));
    else if (Object.hasOwn(headers, key)) told.add(fault('is given twice', option('headers', name)));
    else headers[key] = value;
  }
  return headers;
}
