import { createHmac, randomBytes } from 'node:crypto';
import type { ServerOptions as TlsOptions } from 'node:https';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { type NamedToken, readTls, readTokens, type TlsTexts } from '../../access/index.js';
import { itemAt, pushAll } from '../../collections/index.js';
import { fault, option, ToldFaults } from '../../formats/index.js';
import type { AccessOptions } from '../types.js';

/**
 * The least version of TLS that is accepted, and what is demanded of clients where authorities for their
 * certificates are named.
 */
const LEAST_TLS = 'TLSv1.2';

/** Refused says why a request may not come in. */
export interface Refused {
  readonly status: 401 | 403;
  readonly reason: 'token' | 'host' | 'origin';
  readonly why: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** AskedHeaders is what is looked at of a request. */
export interface AskedHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly authorization?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
  readonly 'sec-fetch-mode'?: string | string[] | undefined;
}

/**
 * Access says who may come in: by the files of tokens and certificates that were named, which are read again by `renew`,
 * and by the names under which clients call the server.
 */
export class Access {
  private names: ReadonlyMap<string, string> | undefined;
  private texts: TlsTexts | undefined;
  private readonly allowed: ReadonlySet<string>;
  /**
   * asksForName says whether every request must call the server by a name that is known; one that comes at a
   * loopback address always must.
   */
  private asksForName: boolean;

  private constructor(private readonly options: AccessOptions) {
    const { host, allowHosts = [] } = options;
    this.allowed = new Set([hostname(), ...allowHosts, ...(host === undefined ? [] : [host])].map(plainHost));
    this.asksForName = allowHosts.length > 0;
  }

  /** open reads the files. It adds every fault of the options to `told`, and what is unsafe to `warnings`. */
  static async open(options: AccessOptions, told: ToldFaults, warnings: string[]): Promise<Access> {
    const access = new Access(options);
    addOptionFaults(options, told);
    pushAll(warnings, await access.readTokens(told));
    pushAll(warnings, await access.readTls(told));
    return access;
  }

  /** tls is undefined where the server speaks plain HTTP. */
  get tls(): TlsOptions | undefined {
    if (this.texts === undefined) return undefined;
    const asksForCertificate = this.texts.ca !== undefined;
    return {
      ...this.texts,
      minVersion: LEAST_TLS,
      requestCert: asksForCertificate,
      rejectUnauthorized: asksForCertificate,
    };
  }

  get hasTokens(): boolean {
    return this.names !== undefined;
  }

  /**
   * listensOn says where the server listens, and gives a warning where others can reach it and nobody is
   * asked for anything.
   */
  listensOn(addresses: readonly string[]): string | undefined {
    const open = addresses.filter((address) => !isLoopback(address));
    if (open.length === 0) this.asksForName = true;
    if (open.length === 0 || this.hasTokens || this.texts?.ca !== undefined) return undefined;
    return `other machines can reach this server at ${open.join(', ')}, and it asks nobody for a token: name those who may come in with ${option('tokenFile')}`;
  }

  /**
   * renew reads the files again. A file with faults changes nothing of what is in force.
   * @returns what became of it, in sentences
   */
  async renew(): Promise<string[]> {
    const { tokenFile, sslCertfile } = this.options;
    if (tokenFile === undefined && sslCertfile === undefined)
      return ['there is nothing to read again: neither tokens nor certificates were given'];
    const said: string[] = [];
    const reread = async (what: string, read: (told: ToldFaults) => Promise<string[]>): Promise<void> => {
      const told = new ToldFaults();
      const warnings = await read(told);
      const faults = told.all().map(({ path, message }) => `${path}: ${message}`);
      if (told.count === 0)
        pushAll(said, [`read again: ${what}`, ...warnings.map((text) => `warning: ${text}`)]);
      else said.push(`kept ${what} as before, since what is there now cannot be used: ${faults.join('; ')}`);
    };
    if (tokenFile !== undefined) await reread(`the tokens of ${tokenFile}`, (told) => this.readTokens(told));
    if (sslCertfile !== undefined)
      await reread(`the certificate of ${sslCertfile}`, (told) => this.readTls(told));
    return said;
  }

  /**
   * refused says why a request may not come in, or gives undefined where it may. Nobody is asked for a token for its health.
   * @param at the address of this machine at which it came
   */
  refused(headers: AskedHeaders, at: string | undefined, isOfHealth: boolean): Refused | undefined {
    return this.foreign(headers, at) ?? (isOfHealth ? undefined : this.unknown(headers.authorization));
  }

  /** nameOf gives the name of who sent a token; undefined where there is no such token, or none is asked for. */
  nameOf(authorization: string | undefined): string | undefined {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    return token === undefined ? undefined : this.names?.get(digestOf(token));
  }

  private unknown(authorization: string | undefined): Refused | undefined {
    if (!this.hasTokens || this.nameOf(authorization) !== undefined) return undefined;
    const [why, error] =
      authorization === undefined
        ? ['a token is needed: send it in the header Authorization, as Bearer <token>', '']
        : ['the token is not one of those that this server takes', ', error="invalid_token"'];
    const headers = { 'www-authenticate': `Bearer realm="inferplan"${error}` };
    return { status: 401, reason: 'token', why, headers };
  }

  /**
   * foreign refuses what a page of another site could send through a browser on this machine: its own host, where its
   * name was made to lead here (DNS rebinding), or an origin that is another.
   */
  private foreign(headers: AskedHeaders, at: string | undefined): Refused | undefined {
    if (!this.asksForName && (at === undefined || !isLoopback(at))) return undefined;
    const { host, origin } = headers;
    if (host !== undefined && !this.isKnown(hostIn(host), at))
      return {
        status: 403,
        reason: 'host',
        why: `${quoted(host)} is not a name of this machine; --allow-host allows others`,
      };
    if (origin !== undefined && !this.isKnown(originHost(origin), at))
      return {
        status: 403,
        reason: 'origin',
        // Pages of files and of sandboxes are of no host, so that no name allows them.
        why:
          origin === 'null'
            ? 'pages without an origin may not call this server'
            : `pages of ${quoted(origin)} may not call this server; --allow-host allows them`,
      };
    const isOfPage = headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate';
    if (origin === undefined && isOfPage)
      return { status: 403, reason: 'origin', why: 'pages of other sites may not call this server' };
    return undefined;
  }

  private isKnown(host: string | undefined, at: string | undefined): boolean {
    if (host === undefined) return false;
    return isLoopback(host) || this.allowed.has(host) || (at !== undefined && host === plainHost(at));
  }

  private async readTokens(told: ToldFaults): Promise<string[]> {
    const { tokenFile } = this.options;
    const read = tokenFile === undefined ? undefined : await readTokens(tokenFile, told);
    if (read === undefined) return [];
    this.names = new Map(read.tokens.map(({ name, token }: NamedToken) => [digestOf(token), name]));
    return [...read.warnings];
  }

  private async readTls(told: ToldFaults): Promise<string[]> {
    const { sslCertfile, sslKeyfile, sslCaCerts } = this.options;
    if ([sslCertfile, sslKeyfile, sslCaCerts].every((path) => path === undefined)) return [];
    const read = await readTls(this.options, told);
    if (read === undefined) return [];
    this.texts = read.tls;
    return [...read.warnings];
  }
}

function addOptionFaults(options: AccessOptions, told: ToldFaults): void {
  const { host, port, metricsPort, sslCertfile, sslCaCerts, allowHosts = [] } = options;
  if (host !== undefined && host.trim() === '')
    told.add(fault('is empty; name an address, such as 127.0.0.1, or 0.0.0.0 for all', option('host')));
  if (sslCaCerts !== undefined && sslCertfile === undefined)
    told.add(fault(`is for ${option('sslCertfile')}, which is not given`, option('sslCaCerts')));
  if (metricsPort !== undefined && metricsPort !== 0 && metricsPort === port)
    told.add(fault(`is ${port}, as ${option('port')} is; give it another`, option('metricsPort')));
  for (const name of allowHosts)
    if (!/^[A-Za-z0-9._-]+$/.test(name) && isIP(plainHost(name)) === 0)
      told.add(fault('is not a name of a host, without scheme, port and path', option('allowHosts', name)));
}

/** Digests under a key that nobody knows are compared, so that the time of a look-up says nothing of a token. */
const KEY = randomBytes(32);

function digestOf(token: string): string {
  return createHmac('sha256', KEY).update(token).digest('base64');
}

/** hostIn gives the host of a header `Host`, which may have a port. It is undefined of what is none. */
function hostIn(text: string): string | undefined {
  const found = /^(\[[0-9A-Fa-f:.]+\]|[^:/?#@\s]+)(?::\d*)?$/.exec(text);
  return found === null ? undefined : plainHost(itemAt(found, 1));
}

function originHost(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname } = new URL(text);
  return /^https?:$/.test(protocol) ? plainHost(hostname) : undefined;
}

function plainHost(text: string): string {
  const bare = text
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
  return bare.replace(/^::ffff:(?=\d+\.)/, '');
}

/** quoted keeps what a client wrote on one line, and short. */
function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

/** isLoopback says whether a host is this machine by its name or address alone. */
function isLoopback(host: string): boolean {
  const plain = plainHost(host);
  if (plain === 'localhost' || plain === '::1') return true;
  return isIP(plain) === 4 && plain.startsWith('127.');
}
