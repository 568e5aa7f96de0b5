import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** HAS_OPENSSL says whether certificates can be made here. */
export const HAS_OPENSSL = spawnSync('openssl', ['version']).status === 0;
export const HAS_CURL = spawnSync('curl', ['--version']).status === 0;

/** Certificates holds an authority, and makes certificates that it signs, in a folder of their own. */
export class Certificates {
  readonly folder = mkdtempSync(join(tmpdir(), 'inferplan-certificates-'));
  readonly authority = this.at('authority.pem');

  constructor() {
    this.openssl(
      'req',
      '-x509',
      ...NEW_KEY,
      '-keyout',
      this.at('authority.key'),
      '-out',
      this.authority,
      ...DAYS,
      '-subj',
      '/CN=authority',
    );
  }

  at(file: string): string {
    return join(this.folder, file);
  }

  /** signed makes `<name>.pem` with its key, for localhost and 127.0.0.1. */
  signed(name: string): { certfile: string; keyfile: string } {
    const [certfile, keyfile, request] = [
      this.at(`${name}.pem`),
      this.at(`${name}.key`),
      this.at(`${name}.csr`),
    ];
    const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    this.openssl('req', ...NEW_KEY, '-keyout', keyfile, '-out', request, '-subj', `/CN=${name}`, ...names);
    const by = ['-CA', this.authority, '-CAkey', this.at('authority.key'), '-CAcreateserial'];
    this.openssl(
      'x509',
      '-req',
      '-in',
      request,
      ...by,
      '-out',
      certfile,
      ...DAYS,
      '-copy_extensions',
      'copy',
    );
    return { certfile, keyfile };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  private openssl(...args: string[]): void {
    execFileSync('openssl', args, { stdio: 'ignore' });
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const DAYS = ['-days', '2'];
