import type { ChannelsConfig } from '@countersign/channels';
import type { GroupsOf } from '@countersign/policy';
import { channelsTenant } from './channels/approvers.js';
import type { Tokens } from './tokens.js';

/** Where it is written who may answer. */
export interface GroupSources {
  /** Undefined before the first start made them: their people have no groups. */
  readonly tokens: () => Pick<Tokens, 'approverGroups'> | undefined;
  readonly channels: Pick<ChannelsConfig, 'people'> | undefined;
  /** True if people sign in at an OIDC provider, which then says their groups. */
  readonly hasOidc: boolean;
}

/** The groups that the approvers of each tenant have. Not known where an OIDC provider says it. */
export function createGroupsOf({ tokens, channels, hasOidc }: GroupSources): GroupsOf {
  const ofPeople = (channels?.people ?? []).flatMap(({ groups }) => groups);
  return (tenant) => {
    if (hasOidc) return null;
    const ofChannels = tenant === channelsTenant ? ofPeople : [];
    return new Set([...(tokens()?.approverGroups(tenant) ?? []), ...ofChannels]);
  };
}
