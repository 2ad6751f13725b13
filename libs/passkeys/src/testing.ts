export { createAuthenticator } from './testing/authenticator.js';
export type { Authenticator, Site } from './testing/authenticator.js';
