import { isLoopback, readConfig, readSecretOf } from '@countersign/runtime';
import type { Secret } from '@countersign/runtime';
import { z } from 'zod';

/** The settings of an OpenID Connect provider. */
export interface OidcConfig {
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: Secret | null;
  /** For access tokens as bearer tokens; null: not accepted. */
  readonly audience: string | null;
  readonly rolesClaim: string;
  readonly groupsClaim: string;
  readonly tenant: string;
}

const schema = z
  .object({
    COUNTERSIGN_OIDC_ISSUER: z
      .url({ protocol: /^https?$/, error: 'must be the URL of the issuer', abort: true })
      .refine(isSafe, { error: 'must be https, or http on this machine' })
      .optional(),
    COUNTERSIGN_OIDC_CLIENT_ID: z.string().min(1).optional(),
    COUNTERSIGN_OIDC_CLIENT_SECRET_FILE: z.string().min(1).optional(),
    COUNTERSIGN_OIDC_AUDIENCE: z.string().min(1).optional(),
    COUNTERSIGN_OIDC_ROLES_CLAIM: z.string().min(1).default('roles'),
    COUNTERSIGN_OIDC_GROUPS_CLAIM: z.string().min(1).default('groups'),
    COUNTERSIGN_OIDC_TENANT: z.string().min(1).default('default'),
  })
  .refine((values) => values.COUNTERSIGN_OIDC_ISSUER === undefined || values.COUNTERSIGN_OIDC_CLIENT_ID !== undefined, {
    path: ['COUNTERSIGN_OIDC_CLIENT_ID'],
    error: 'needed with COUNTERSIGN_OIDC_ISSUER',
  })
  .refine((values) => values.COUNTERSIGN_OIDC_CLIENT_ID === undefined || values.COUNTERSIGN_OIDC_ISSUER !== undefined, {
    path: ['COUNTERSIGN_OIDC_ISSUER'],
    error: 'needed with COUNTERSIGN_OIDC_CLIENT_ID',
  });

/**
 * `COUNTERSIGN_OIDC_*` out of the environment; null without an issuer.
 * @throws ConfigError naming every wrong variable.
 */
export function readOidcConfig(env: Readonly<Record<string, string | undefined>>): OidcConfig | null {
  const values = readConfig(schema, env);
  const { COUNTERSIGN_OIDC_ISSUER: issuer, COUNTERSIGN_OIDC_CLIENT_ID: clientId } = values;
  if (issuer === undefined || clientId === undefined) return null;
  const secretFile = values.COUNTERSIGN_OIDC_CLIENT_SECRET_FILE;
  return {
    issuer: new URL(issuer),
    clientId,
    clientSecret: secretFile === undefined ? null : readSecretOf('COUNTERSIGN_OIDC_CLIENT_SECRET_FILE', secretFile),
    audience: values.COUNTERSIGN_OIDC_AUDIENCE ?? null,
    rolesClaim: values.COUNTERSIGN_OIDC_ROLES_CLAIM,
    groupsClaim: values.COUNTERSIGN_OIDC_GROUPS_CLAIM,
    tenant: values.COUNTERSIGN_OIDC_TENANT,
  };
}

/** Plain http only on loopback. */
function isSafe(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer);
  return protocol === 'https:' || isLoopback(hostname);
}
