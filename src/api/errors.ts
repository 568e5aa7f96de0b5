/** The errors a caller of the api may catch; apart, so that a program that only reports one loads nothing else. */
export { InputError, MissingError } from '../artifacts/index.js';
