/**
 * This room reads what says who may come in, and who one is: files of tokens, certificates and keys.
 *
 * Paths go in; named tokens and PEM texts come out, with every fault of the files at once, and warnings. It opens no
 * sockets and compares no tokens. Start reading at `tokens.ts`, then `tls-files.ts`.
 */
export { type ReadFiles, readTls, type TlsPaths, type TlsTexts } from './tls-files.js';
export { type NamedToken, readClientToken, readTokens } from './tokens.js';
