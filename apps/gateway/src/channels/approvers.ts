import type { Person } from '@countersign/channels';
import type { Log } from '@countersign/runtime';
import type { Sessions } from '../inbox/sessions.js';
import type { Tokens } from '../tokens.js';

/** Everything that is configured belongs to one tenant. */
export const channelsTenant = 'default';

/** Whether a principal of the channels' tenant has the role of an approver now. */
export type IsApprover = (principal: string) => boolean;

/** Who proves people. */
export interface ApproverSources {
  readonly tokens: Pick<Tokens, 'grants'>;
  readonly sessions?: Pick<Sessions, 'grants'> | undefined;
}

/**
 * The channels file says who a user of a channel is, and not what they may do: the tokens file does, or the provider at
 * which they signed in here. `told` hears at once of the people whose answers will be refused.
 */
export function createIsApprover(
  { tokens, sessions }: ApproverSources,
  told?: { readonly people: readonly Person[]; readonly log: Log },
): IsApprover {
  const isApprover: IsApprover = (principal) => {
    const who = { tenant: channelsTenant, principal };
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
    'these people of the channels file cannot answer through channels: no entry of the tokens file makes them an approver',
  );
}
