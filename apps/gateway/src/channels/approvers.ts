import type { Person } from '@countersign/channels';
import type { Log } from '@countersign/runtime';
import type { Sessions } from '../inbox/sessions.js';
import type { Tokens } from '../tokens.js';

/** All configuration belongs to one tenant. */
export const channelsTenant = 'default';

/** Returns whether a principal has the approver role now. */
export type IsApprover = (principal: string) => boolean;

/** How people are authenticated. */
export interface ApproverSources {
  readonly tokens: Pick<Tokens, 'grants'>;
  readonly sessions?: Pick<Sessions, 'grants'> | undefined;
}

/**
 * The channels file maps a channel's user to a person, but gives no rights. The tokens file or the OIDC provider gives
 * them. `told` receives the people whose responses will be refused.
 */
export function createIsApprover(
  { tokens, sessions }: ApproverSources,
  told?: { readonly people: readonly Person[]; readonly log: Log },
  tenant = channelsTenant,
): IsApprover {
  const isApprover: IsApprover = (principal) => {
    const who = { tenant, principal };
    return tokens.grants(who, 'approver') || sessions?.grants(who, 'approver') === true;
  };
  if (told !== undefined) warnOfRefused(told.people, isApprover, told.log);
  return isApprover;
}

function warnOfRefused(people: readonly Person[], isApprover: IsApprover, log: Log): void {
  const refused = people.map(({ id }) => id).filter((id) => !isApprover(id));
  if (refused.length === 0) return;
  log.warn(
    { people: refused },
    'these people of the channels cannot answer through channels: no entry of the tokens file makes them an approver',
  );
}
