export { makeAuthority } from './testing/authority.js';
export type { Authority, Forgery } from './testing/authority.js';
export { serveAuthority } from './testing/serve-authority.js';
export type { ServedAuthority } from './testing/serve-authority.js';
