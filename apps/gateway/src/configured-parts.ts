import type { ChannelsConfig } from '@countersign/channels';
import { digestOfFile, digestOfValue, processTenant } from '@countersign/shell';
import type { ConfiguredPart, SystemLog } from '@countersign/shell';
import type { OidcConfig } from './inbox/oidc-config.js';

/** The configuration of a process besides its tokens and its policy. Null: it has no such file. */
export interface ConfiguredFiles {
  readonly channelsFile: string | null;
  readonly channels?: Pick<ChannelsConfig, 'broken' | 'channels' | 'people'> | undefined;
  readonly toolsFile: string | null;
  readonly tools?: readonly { readonly name: string; readonly tenant: string }[];
  readonly oidc: OidcConfig | null;
}

/**
 * The parts of this configuration that are recorded: for each tenant its own, and never a secret. The lines of channels, people
 * and providers are a stored format: the audit's judge reads them.
 */
export function readConfiguredParts(
  { tenants }: Pick<SystemLog, 'tenants'>,
  files: ConfiguredFiles,
): readonly ConfiguredPart[] {
  const { channelsFile, channels, oidc } = files;
  const people = channels?.people ?? [];
  return [
    {
      ...{ configures: 'channels', digest: digestOfFile(channelsFile) },
      summary: [...(channels?.channels ?? []), ...(channels?.broken ?? [])].map(({ id, type }) => `${id} (${type})`),
    },
    {
      ...{ configures: 'people', digest: people.length === 0 ? null : digestOfValue(people.map(toJson)) },
      summary: people.map(({ id, groups }) => [id, ...groups].join(' ')),
    },
    ...toolsOf(tenants(), files),
    ...oidcOf(tenants(), oidc),
  ];
}

function toJson(person: object) {
  return Object.fromEntries(Object.entries(person).map(([name, value]) => [name, JSON.stringify(value)]));
}

function toolsOf(known: readonly string[], { toolsFile, tools = [] }: ConfiguredFiles): readonly ConfiguredPart[] {
  const byTenant = Map.groupBy(tools, ({ tenant }) => tenant);
  return [...new Set([processTenant, ...known, ...byTenant.keys()])].map((tenant) => {
    const summary = (byTenant.get(tenant) ?? []).map(({ name }) => name);
    // The file may have the tools of other tenants too.
    const own = summary.length === 0 ? null : digestOfValue(summary);
    return { configures: 'tools', tenant, digest: tenant === processTenant ? digestOfFile(toolsFile) : own, summary };
  });
}

function oidcOf(known: readonly string[], oidc: OidcConfig | null): readonly ConfiguredPart[] {
  return [...new Set([...known, ...(oidc === null ? [] : [oidc.tenant])])].map((tenant) => {
    if (oidc?.tenant !== tenant) return { configures: 'oidc', tenant, digest: null, summary: [] };
    const { issuer, clientId, audience, rolesClaim, groupsClaim } = oidc;
    const digest = digestOfValue({ issuer: issuer.href, clientId, audience, rolesClaim, groupsClaim });
    return { configures: 'oidc', tenant, digest, summary: [`issuer ${issuer.href}`, `client ${clientId}`] };
  });
}
