import { connect } from 'node:tls';
import { option } from '../formats/index.js';

/** A server that does not describe its models within this time is taken to hang. */
export const DESCRIBE_TIMEOUT_MS = 5000;
const NOT_TRUSTED = `its certificate is not signed by an authority that is trusted; name that with ${option('sslCaCerts')}`;
const WORDS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: NOT_TRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: NOT_TRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NOT_TRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NOT_TRUSTED,
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is of another host',
  ENOTFOUND: 'there is no such host (ENOTFOUND)',
  UND_ERR_SOCKET: 'the server closed the connection',
  UND_ERR_HEADERS_OVERFLOW: 'its headers are larger than 16 KiB',
  UND_ERR_HEADERS_TIMEOUT: `none within ${DESCRIBE_TIMEOUT_MS / 1000} s`,
  UND_ERR_BODY_TIMEOUT: `none within ${DESCRIBE_TIMEOUT_MS / 1000} s`,
};
/** The errors of an attempt that may have met a server of TLS with plain HTTP. */
const PERHAPS_TLS = /^(UND_ERR_SOCKET|ECONNRESET|HPE_.*)$/;
/** The errors of an attempt where a server of TLS wanted a certificate, or closed for another reason. */
const CUT_OFF = /^(UND_ERR_SOCKET|ECONNRESET|ERR_SSL_.*CERTIFICATE.*)$/;
const PROBE_MS = 2000;

/**
 * whyNoAnswer says why a server did not answer, and what to do. Where a plain request was cut off, it asks the port
 * whether it speaks TLS.
 */
export async function whyNoAnswer(
  url: string,
  { code = '', message }: NodeJS.ErrnoException,
): Promise<{ readonly why: string; readonly advice: string }> {
  const { protocol, host, pathname } = new URL(url);
  const address = host + pathname.replace(/\/+$/, '');
  if (protocol === 'https:' && code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return {
      why: 'its port does not speak TLS',
      advice: `Load http://${address} if the server is to be asked in plain HTTP.`,
    };
  if (protocol === 'http:' && PERHAPS_TLS.test(code) && (await speaksTls(url)))
    return { why: 'its port speaks TLS', advice: `Load https://${address}.` };
  const asksForCertificates =
    protocol === 'https:' && CUT_OFF.test(code)
      ? ` If it asks its clients for certificates, give ${option('sslCertfile')} and ${option('sslKeyfile')}.`
      : '';
  return {
    why: `no answer: ${WORDS[code] ?? (code || message)}`,
    advice: `Is the server running?${asksForCertificates}`,
  };
}

/** speaksTls tries a handshake with whoever listens there, whatever its certificate is, and sends nothing. */
function speaksTls(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port === '' ? 80 : port), rejectUnauthorized: false });
    const said = (speaks: boolean) => {
      socket.destroy();
      resolve(speaks);
    };
    socket.setTimeout(PROBE_MS, () => said(false));
    socket.once('secureConnect', () => said(true));
    socket.once('error', () => said(false));
  });
}
