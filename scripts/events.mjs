// Writes docs/event-reference.md from the schemas of the events, their comments and the stored examples; with --check it only compares.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { ensureBuilt, ensureInstalled, root } from './prepare.mjs';

await ensureInstalled();
await ensureBuilt();
const contracts = join(root, 'libs', 'contracts');
const { eventSchemas, eventTypes, eventCodes } = await import(pathToFileURL(join(contracts, 'dist', 'index.js')).href);
const source = globSync('src/*.ts', { cwd: contracts, exclude: (name) => name.endsWith('.spec.ts') })
  .sort()
  .map((name) => readFileSync(join(contracts, name), 'utf8'))
  .join('\n');
const file = join(root, 'docs', 'event-reference.md');

const head = `# Reference of the events

What each event means, its members, and an example of each as it is stored. \`npm run events\` writes this page from the schemas. [Events](events.md)
says who did it, and what the log of record is. \`docs/schemas/events\` has the whole JSON Schema of each, with the members of objects.

Besides \`data\`, every event has \`eventId\`, \`type\`, \`position\`, \`revision\`, \`recordedAt\`, \`tenant\`, \`callId\`, \`toolCallId\`, \`toolName\`,
\`agentId\`, \`runId\` and \`actor\`. Values that are hidden are masked where you may not see them.
`;
const words = { string: 'text', integer: 'whole number', boolean: 'true or false' };
/** Members that mean the same in every event. */
const usual = {
  actionDigest: 'The digest of what would run: the tool and its arguments.',
  after: 'What is in force from here on.',
  agentId: 'The agent, as it names itself.',
  approvalId: 'The approval.',
  arguments: 'The arguments of the call.',
  assurance: 'How well the person was known.',
  attempt: 'The number of the claim: 1 for the first one.',
  batchId: 'The step of the agent to which the call belongs.',
  batchMode: 'What the calls of the step have to do with each other.',
  callId: 'The call.',
  changed: 'What was changed.',
  channelId: 'The channel, by its name in the channels file.',
  clientExecuted: 'Whether the agent runs the tool itself, and no worker does.',
  configures: 'What the file configures.',
  count: 'How many there were.',
  credentialId: 'The passkey.',
  decision: 'What was answered: `approve`, `edit`, `deny` or `answer`.',
  description: 'What the call is for, in the words of the agent.',
  detail: 'The cause, in words.',
  error: 'The error of the tool.',
  grantId: 'The grant.',
  groups: 'The groups of the person then.',
  idempotencyKey: 'What the tool gets, so that its own server can tell a repeat.',
  idempotent: 'Whether the tool may run again when it is unknown whether it ran.',
  instruction: 'What the person tells the agent besides.',
  kind: 'What the message is about.',
  labels: 'The labels of the request.',
  leaseUntil: 'Until when nobody else may claim.',
  messageRef: 'The message, in the words of the vendor.',
  metadata: 'What the agent sent for its own use.',
  needsApproval: 'Whether the agent asked for an approval.',
  note: 'What the person knows about it.',
  notifierId: 'The process that sends.',
  origin: 'The origin of the page on which it was made.',
  outcome: 'What the policy decided.',
  output: 'The output of the tool.',
  part: 'The number of this event among those of one large change.',
  principal: 'The person.',
  processId: 'The process that records: its id is made at its first start.',
  reason: 'Why, in the words of who did it.',
  removed: 'What was removed.',
  requirement: 'Who must agree, how many of them, and in which time.',
  resolution: 'How the question stands after the answer.',
  resolverId: 'The process that claimed, as it names itself.',
  round: '1 when people are asked for the first time.',
  ruleId: 'The rule of the policy.',
  runId: 'The run.',
  salt: 'Makes the digest of hidden values one that nobody can guess.',
  scope: 'What is stopped.',
  shows: 'The digest of what the message shows.',
  signCount: 'How often the passkey has signed, as it says itself.',
  status: 'What the person says of the run.',
  stopId: 'The stop.',
  tenant: 'The tenant.',
  title: 'The title of the tool, in the words of the agent.',
  toolCallId: 'The call, as the agent names it in its run.',
  toolDescription: 'What the tool does, in the words of the agent.',
  toolName: 'The tool.',
  toolSchema: 'The JSON Schema of the arguments; null: the request had none.',
  toolSchemaHash: 'The digest of that schema.',
  transports: 'How the passkey is reached.',
  unknownSince: 'When.',
  values: 'How many values were erased.',
  verdict: 'What the policy decided: the outcome, the rule, and the version of the policy.',
  version: 'The version of Countersign.',
  via: 'The channel or program through which it came.',
  why: 'What led there, in words.',
  with: 'How the person signed in.',
};

const text = [head, ...eventTypes.map(sectionOf)].join('\n');
if (!process.argv.includes('--check')) writeFileSync(file, text);
else if (readFileSync(file, 'utf8') !== text) {
  console.error('docs/event-reference.md is not what the schemas say: npm run events');
  process.exitCode = 1;
}

function sectionOf(type) {
  const [, name] = new RegExp(`\\b${type}: (\\w+Schema)\\b`).exec(source) ?? [];
  const when = commentBefore(new RegExp(`export const ${name} =`));
  if (when === '') throw new Error(`no comment says when ${type} is recorded: write one over ${name}`);
  const { properties = {}, required = [], $defs = {} } = z.toJSONSchema(eventSchemas[type], { unrepresentable: 'any' });
  const about = membersOf(name);
  const rows = Object.entries(properties).map(([member, schema]) => {
    const there = required.includes(member) ? '' : ', or absent';
    return `| \`${member}\` | ${typeOf(schema, $defs)}${there} | ${about.get(member) ?? aboutUsual(member)} |`;
  });
  const example = JSON.parse(readFileSync(join(contracts, 'src', 'golden', goldenOf(type)), 'utf8'));
  return [
    `## \`${type}\` (${eventCodes[type]})`,
    when,
    ['| member of `data` | type | |', '| --- | --- | --- |', ...rows].join('\n'),
    `\`\`\`json\n${JSON.stringify(example.data, null, 2)}\n\`\`\``,
    '',
  ].join('\n\n');
}

function aboutUsual(member) {
  return usual[member] ?? (member.endsWith('At') ? 'When.' : member.endsWith('By') ? 'The principal who did it.' : '');
}

/** The newest example of an event: the plain one where there are several. */
function goldenOf(type) {
  const names = globSync(`${type}{,.*}.v*.json`, { cwd: join(contracts, 'src', 'golden') });
  const version = (name) => Number(/\.v(\d+)\.json$/.exec(name)?.[1]);
  const [newest] = names.sort((a, b) => version(b) - version(a) || a.length - b.length);
  if (newest === undefined) throw new Error(`libs/contracts/src/golden has no ${type}`);
  return newest;
}

function commentBefore(pattern) {
  const at = pattern.exec(source)?.index ?? 0;
  return commentAtEnd(source.slice(0, at));
}

function commentAtEnd(before) {
  const [, comment = ''] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(before) ?? [];
  return comment
    .replaceAll(/^\s*\*/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll('|', '\\|');
}

/** The source of a constant, up to the line that ends it. */
function bodyOf(name) {
  const at = new RegExp(`^(?:export )?const ${name} = `, 'm').exec(source)?.index;
  if (at === undefined) return '';
  const lines = source.slice(at).split('\n');
  const last = lines.findIndex((line) => /^\S.*;$/.test(line));
  return lines.slice(0, last + 1).join('\n');
}

/** The comment of each direct member, also of constants that are spread into it. */
function membersOf(name) {
  const body = bodyOf(name);
  const found = new Map();
  for (const [, spread] of body.matchAll(/\.\.\.(\w+)(?:\.shape)?(?=,| \})/g))
    if (spread !== name) for (const [member, comment] of membersOf(spread)) found.set(member, comment);
  const indent = /\n( +)\w+[:,]/.exec(body)?.[1] ?? '  ';
  for (const { 1: member, index } of body.matchAll(new RegExp(`^${indent}(\\w+)(?=[:,])`, 'gm'))) {
    const comment = commentAtEnd(body.slice(0, index));
    if (comment !== '') found.set(member, comment);
  }
  return found;
}

function typeOf(schema, defs) {
  if (schema.$ref !== undefined) return typeOf(defs[schema.$ref.split('/').at(-1)] ?? {}, {});
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${one}\``).join(', ');
  const any = schema.anyOf ?? schema.oneOf;
  if (any !== undefined) return [...new Set(any.map((one) => typeOf(one, defs)))].join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {}, defs)}`;
  if (schema.format === 'date-time') return 'time';
  const { type } = schema;
  return [type]
    .flat()
    .map((one) => words[one] ?? one ?? 'any value')
    .join(' or ');
}
