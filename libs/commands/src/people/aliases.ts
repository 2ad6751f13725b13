import { comparedIdentity, identitiesIn } from '@countersign/contracts';
import type { Identities } from '@countersign/contracts';
import type { CommandPorts } from '../ports.js';

/** All names of one person: the id and the identities. */
type Names = readonly string[];

/** The people that have a name, by the name in the form in which it is compared. */
type PeopleByName = ReadonlyMap<string, readonly Names[]>;

/**
 * The other names of a person: the ids and the identities of whom the policy file and the channels file list under any
 * of their names. An agent that acts for a person may know only one name, and a person may have a token for each.
 */
export function aliasesOf(
  { policies, people }: Pick<CommandPorts, 'policies' | 'people'>,
  tenant: string,
  principal: string,
): readonly string[] {
  const files = [inPolicyFile(policies.of(tenant).approvers), byName(people?.names(tenant) ?? [])];
  const found = new Map([[comparedIdentity(principal), principal]]);
  // A name that one file adds may be a name in the other one. A map that grows is walked to its new end.
  for (const name of found.keys()) {
    for (const other of files.flatMap((file) => file.get(name) ?? []).flat()) {
      const compared = comparedIdentity(other);
      if (!found.has(compared)) found.set(compared, other);
    }
  }
  return [...found.values()].slice(1);
}

interface Listed {
  readonly id: string;
  readonly identities: Identities;
}

const namesInPolicy = new WeakMap<readonly Listed[], readonly Names[]>();

/** A policy keeps its list of approvers, so it is read once. */
function inPolicyFile(approvers: readonly Listed[]): PeopleByName {
  const known = namesInPolicy.get(approvers);
  const names = known ?? approvers.map(({ id, identities }) => [id, ...identitiesIn(identities)]);
  if (known === undefined) namesInPolicy.set(approvers, names);
  return byName(names);
}

const indexes = new WeakMap<readonly Names[], PeopleByName>();

function byName(people: readonly Names[]): PeopleByName {
  const known = indexes.get(people);
  if (known !== undefined) return known;
  const index = new Map<string, Names[]>();
  for (const names of people) {
    for (const name of new Set(names.map(comparedIdentity))) index.set(name, [...(index.get(name) ?? []), names]);
  }
  indexes.set(people, index);
  return index;
}
