import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorFields, type FaultPlace, fault, option, type ToldFaults } from '../formats/index.js';
import { readSecret, readText } from './secret-file.js';

/** TlsPaths names files in PEM: a certificate with those that it is signed by, its key, and who is trusted. */
export interface TlsPaths {
  /** The certificate, its own first. */
  readonly sslCertfile?: string | undefined;
  /** Its key; by default it is in the file of the certificate. */
  readonly sslKeyfile?: string | undefined;
  /** The certificates of the authorities whose signatures are trusted. */
  readonly sslCaCerts?: string | undefined;
}

/** TlsTexts holds what is in the files, as Node's TLS takes it. */
export interface TlsTexts {
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
}

/** ReadFiles is what was read, and what is unsafe about the files. */
export interface ReadFiles {
  readonly tls: TlsTexts;
  readonly warnings: readonly string[];
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * readTls reads and checks certificates and keys: whether they can be read, the key fits the certificate, and Node's TLS
 * takes them together.
 * @returns undefined where something was added to `told`
 */
export async function readTls(paths: TlsPaths, told: ToldFaults): Promise<ReadFiles | undefined> {
  const { sslCertfile, sslKeyfile, sslCaCerts } = paths;
  const before = told.count;
  const warnings: string[] = [];
  if (sslKeyfile !== undefined && sslCertfile === undefined)
    told.add(fault(`is for ${option('sslCertfile')}, which is not given`, option('sslKeyfile')));
  const own = sslCertfile === undefined ? {} : await readPair(sslCertfile, sslKeyfile, { told, warnings });
  const ca = await readAuthorities(sslCaCerts, told);
  if (told.count > before) return undefined;
  const tls = { ...own, ...(ca === undefined ? {} : { ca }) };
  try {
    createSecureContext(tls);
  } catch (error) {
    told.add(
      fault(`cannot be used: ${errorFields(error).message}`, placeOf('sslCertfile', sslCertfile ?? '')),
    );
    return undefined;
  }
  return { tls, warnings };
}

const placeOf = (name: keyof TlsPaths, path: string): FaultPlace => option(name, path);

async function readPair(
  certfile: string,
  keyfile: string | undefined,
  { told, warnings }: { readonly told: ToldFaults; readonly warnings: string[] },
): Promise<TlsTexts> {
  const certPlace = placeOf('sslCertfile', certfile);
  const keyPlace = keyfile === undefined ? certPlace : placeOf('sslKeyfile', keyfile);
  const cert = await readText(certfile, certPlace, told);
  const secret = await readSecret(keyfile ?? certfile, keyPlace, told);
  const own = cert === undefined ? undefined : certificatesIn(cert, certPlace, told)[0];
  const key = secret === undefined ? undefined : keyIn(secret.text, keyPlace, told);
  if (secret?.warning !== undefined) warnings.push(secret.warning);
  if (own !== undefined && key !== undefined && !own.checkPrivateKey(key))
    told.add(fault(`is not the key of the certificate in ${certfile}`, keyPlace));
  if (own !== undefined && Date.parse(own.validTo) < Date.now())
    warnings.push(`the certificate in ${certfile} is valid until ${own.validTo}, which is past`);
  return cert === undefined || secret === undefined ? {} : { cert, key: secret.text };
}

async function readAuthorities(path: string | undefined, told: ToldFaults): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const place = placeOf('sslCaCerts', path);
  const text = await readText(path, place, told);
  if (text !== undefined) certificatesIn(text, place, told);
  return text;
}

function certificatesIn(text: string, place: FaultPlace, told: ToldFaults): X509Certificate[] {
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) told.add(fault('holds no certificate in PEM', place));
  return blocks.flatMap((block, i) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      told.add(fault(`its certificate ${i + 1} cannot be read`, place));
      return [];
    }
  });
}

function keyIn(text: string, place: FaultPlace, told: ToldFaults): KeyObject | undefined {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    told.add(fault(`holds no private key in PEM; name its file with ${option('sslKeyfile')}`, place));
    return undefined;
  }
  try {
    return createPrivateKey(text);
  } catch (error) {
    const isLocked = /passphrase|bad decrypt|interrupted or cancelled/i.test(
      errorFields(error).message ?? '',
    );
    told.add(
      fault(
        isLocked ? 'its key needs a passphrase; decrypt it with openssl pkey' : 'its key cannot be read',
        place,
      ),
    );
    return undefined;
  }
}
