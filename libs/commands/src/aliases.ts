import { comparedIdentity, identityKinds } from '@countersign/contracts';
import type { Identities } from '@countersign/contracts';
import type { CommandPorts } from './ports.js';

/**
 * The other names of a person: the id and the identities of whom the policy file lists under this name, and their
 * identities in the channels file. An agent that acts for a person may know only such a name, and a person may have a
 * token for each.
 */
export function aliasesOf(
  { policies, people }: Pick<CommandPorts, 'policies' | 'people'>,
  tenant: string,
  principal: string,
): readonly string[] {
  const name = comparedIdentity(principal);
  const listed = policies.of(tenant).approvers.filter(({ id, identities }) => namesOf(id, identities).includes(name));
  const ids = listed.map(({ id }) => id).filter((id) => comparedIdentity(id) !== name);
  const written = [principal, ...ids].map((id) => people?.identitiesOf(tenant, id) ?? {});
  const identities = [...listed.map((one) => one.identities), ...written].flatMap(valuesOf);
  return [...ids, ...identities.filter((identity) => comparedIdentity(identity) !== name)];
}

function namesOf(id: string, identities: Identities): readonly string[] {
  return [id, ...valuesOf(identities)].map(comparedIdentity);
}

function valuesOf(identities: Identities): readonly string[] {
  return identityKinds.flatMap((kind) => identities[kind] ?? []);
}
