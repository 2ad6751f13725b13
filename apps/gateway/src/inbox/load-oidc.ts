import type { OidcPorts } from './oidc-access-tokens.js';
import type { OidcConfig } from './oidc-config.js';
import type { Oidc } from './oidc.js';

/** Sign-in through a provider. Its libraries are loaded here alone: most installations have none. */
export async function loadOidc(config: OidcConfig, ports: OidcPorts): Promise<Oidc> {
  const { createOidc } = await import('./oidc.js');
  return createOidc(config, ports);
}
