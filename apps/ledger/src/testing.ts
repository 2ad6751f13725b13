export { signRequest } from './request-signature.js';
export type { RequestSigning } from './request-signature.js';
