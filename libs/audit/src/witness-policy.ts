import { formatVkey, keyTypes, parseVkey } from './verifier-key.js';
import type { VerifierKey } from './verifier-key.js';

/** A log that a policy accepts. */
export interface PolicyLog {
  readonly key: VerifierKey;
  readonly url: string | null;
}

/** A witness that a policy names. */
export interface PolicyWitness extends PolicyLog {
  /** Its name in the policy, which is not the name of its key. */
  readonly name: string;
}

/** Who must have signed a checkpoint, so that it counts: a policy of C2SP's tlog-policy. */
export interface WitnessPolicy {
  readonly logs: readonly PolicyLog[];
  readonly witnesses: readonly PolicyWitness[];
  /** Whether any cosignature is needed at all. */
  readonly hasQuorum: boolean;
  /** Returns whether the cosignatures of these keys are enough. */
  readonly isQuorum: (cosigners: readonly VerifierKey[]) => boolean;
}

/** A policy, or why a text is none. */
export type ParsedPolicy =
  | { readonly policy: WitnessPolicy }
  /** A sentence with the number of the line. */
  | { readonly problem: string };

interface Group {
  readonly name: string;
  readonly needed: number;
  readonly members: readonly string[];
}

/** What the lines so far define. */
interface Draft {
  readonly logs: PolicyLog[];
  readonly witnesses: PolicyWitness[];
  readonly groups: Group[];
  /** Witnesses and groups share one space of names. */
  readonly names: Set<string>;
  readonly members: Set<string>;
  readonly keys: Set<string>;
  quorum: string | undefined;
}

const linesMax = 10_000;
const logTypes: readonly number[] = [keyTypes.ed25519, keyTypes.mlDsaCosignature];
const witnessTypes: readonly number[] = [keyTypes.cosignature, keyTypes.mlDsaCosignature];

/**
 * Reads a policy in the format of C2SP's tlog-policy: lines `log <vkey> [<url>]`, `witness <name> <vkey> [<url>]`,
 * `group <name> all|any|<k> <name>…` and one `quorum <name>|none`. A name must be defined before it is used.
 */
export function parseWitnessPolicy(text: string): ParsedPolicy {
  const lines = text.split('\n');
  if (lines.length > linesMax) return { problem: `it has more than ${String(linesMax)} lines` };
  const draft: Draft = {
    ...{ logs: [], witnesses: [], groups: [], names: new Set(), members: new Set(), keys: new Set() },
    quorum: undefined,
  };
  for (const [index, line] of lines.entries()) {
    const problem = hasControls(line)
      ? 'it has a control character, and only tabs and line feeds are allowed'
      : readLine(
          draft,
          line.split(/[ \t]+/).filter((part) => part !== ''),
        );
    if (problem !== undefined) return { problem: `line ${String(index + 1)}: ${problem}` };
  }
  const { quorum } = draft;
  if (quorum === undefined) return { problem: 'it has no quorum line: add `quorum <name>`, or `quorum none`' };
  return { policy: toPolicy(draft, quorum) };
}

/** Returns why a line is refused. */
function readLine(draft: Draft, [keyword, ...parts]: readonly string[]): string | undefined {
  if (keyword === undefined || keyword.startsWith('#')) return undefined;
  switch (keyword) {
    case 'log':
      return readLog(draft, parts);
    case 'witness':
      return readWitness(draft, parts);
    case 'group':
      return readGroup(draft, parts);
    case 'quorum':
      return readQuorum(draft, parts);
    default:
      return `"${keyword}" is none of log, witness, group and quorum`;
  }
}

function readLog(draft: Draft, [vkey = '', url, ...more]: readonly string[]): string | undefined {
  if (more.length > 0) return 'a log has a vkey and a URL, and nothing else';
  const key = takeKey(draft, `log ${vkey}`, vkey, logTypes);
  if (typeof key === 'string') return key;
  draft.logs.push({ key, url: url ?? null });
  return undefined;
}

function readWitness(draft: Draft, [name = '', vkey = '', url, ...more]: readonly string[]): string | undefined {
  if (more.length > 0) return 'a witness has a name, a vkey and a URL, and nothing else';
  const taken = takeName(draft, name);
  if (taken !== undefined) return taken;
  const key = takeKey(draft, `witness ${name}`, vkey, witnessTypes);
  if (typeof key === 'string') return key;
  draft.witnesses.push({ name, key, url: url ?? null });
  return undefined;
}

function readGroup(draft: Draft, [name = '', threshold = '', ...members]: readonly string[]): string | undefined {
  const needed = neededOf(threshold, members.length);
  if (needed === undefined)
    return `"${threshold}" is none of all, any and a number from 1 to ${String(members.length)}`;
  for (const member of members) {
    if (!draft.names.has(member)) return notDefined(member);
    if (draft.members.has(member)) return `"${member}" is a member of a group already`;
    draft.members.add(member);
  }
  const taken = takeName(draft, name);
  if (taken !== undefined) return taken;
  draft.groups.push({ name, needed, members });
  return undefined;
}

function readQuorum(draft: Draft, [name = '', ...more]: readonly string[]): string | undefined {
  if (more.length > 0) return 'a quorum is one name';
  if (draft.quorum !== undefined) return 'there is a quorum line already';
  if (name !== 'none' && !draft.names.has(name)) return notDefined(name);
  draft.quorum = name;
  return undefined;
}

function takeName({ names }: Draft, name: string): string | undefined {
  if (name === '') return 'a name is missing';
  if (name === 'none') return '"none" is the name of a quorum without witnesses';
  if (names.has(name)) return `"${name}" is defined already`;
  names.add(name);
  return undefined;
}

/** Returns the key, or why it is refused. Attack: one key under two names would count twice. */
function takeKey({ keys }: Draft, of: string, vkey: string, types: readonly number[]): VerifierKey | string {
  const key = parseVkey(vkey);
  if (key === undefined) return `"${vkey}" is no vkey`;
  if (!types.includes(key.type))
    return `the key of "${of}" has type ${String(key.type)}, not one of ${types.join(', ')}`;
  // A log and a witness may share a key, two witnesses may not.
  const bare = `${types === logTypes ? 'log' : 'witness'} ${Buffer.from(key.key).toString('hex')}`;
  if (keys.has(bare)) return `the key of "${of}" is in an earlier line already`;
  keys.add(bare);
  return key;
}

function neededOf(threshold: string, count: number): number | undefined {
  if (count === 0) return undefined;
  if (threshold === 'all') return count;
  if (threshold === 'any') return 1;
  const needed = Number(threshold);
  return /^[1-9][0-9]{0,5}$/.test(threshold) && needed <= count ? needed : undefined;
}

function toPolicy({ logs, witnesses, groups }: Draft, quorum: string): WitnessPolicy {
  return {
    logs,
    witnesses,
    hasQuorum: quorum !== 'none',
    isQuorum: (cosigners) => {
      if (quorum === 'none') return true;
      const found = new Set(cosigners.map(formatVkey));
      const witnessed = new Set(witnesses.filter(({ key }) => found.has(formatVkey(key))).map(({ name }) => name));
      // A group names only what is defined before it.
      for (const { name, needed, members } of groups) {
        if (members.filter((member) => witnessed.has(member)).length >= needed) witnessed.add(name);
      }
      return witnessed.has(quorum);
    },
  };
}

function notDefined(name: string): string {
  return `"${name}" is not defined in an earlier line`;
}

function hasControls(line: string): boolean {
  for (let at = 0; at < line.length; at += 1) {
    const unit = line.charCodeAt(at);
    if ((unit < 0x20 && unit !== 0x09) || unit === 0x7f) return true;
  }
  return false;
}
