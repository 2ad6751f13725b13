import { comparedIdentity, identityKinds } from '@countersign/contracts';
import type { CommandPorts } from './ports.js';

/**
 * The other names of a person: their identities in the policy file and in the channels file. An agent that acts for a
 * person may know only such a name.
 */
export function aliasesOf(
  { policies, people }: Pick<CommandPorts, 'policies' | 'people'>,
  tenant: string,
  principal: string,
): readonly string[] {
  const listed = policies.of(tenant).approvers.filter(({ id }) => comparedIdentity(id) === comparedIdentity(principal));
  const written = [...listed.map(({ identities }) => identities), people?.identitiesOf(tenant, principal) ?? {}];
  return written.flatMap((identities) => identityKinds.flatMap((kind) => identities[kind] ?? []));
}
