import type { Channel, ChannelConfig, ChannelsConfig, Notice, Person, Place, SendResult } from '@countersign/channels';
import { printable } from '@countersign/text';
import { localError } from '../cli-error.js';
import { publicUrlOf } from '../connection/connection.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import type { Line } from '../view/line.js';
import { channelsOf } from './known-people.js';
import { textOf } from './policy-input.js';

/** `countersign channels check <file>`: reports every problem of a channels file at once. It opens no connection. */
export async function checkChannels(output: Output, file: string): Promise<ExitCode> {
  await textOf(file);
  const { ChannelsFileError, loadChannels } = await import('@countersign/channels');
  try {
    const { channels, people, routes } = loadChannels(file, output.terminal.env);
    output.printJson({
      problems: [],
      channels: channels.map(({ id, type }) => ({ id, type })),
      people: people.length,
      routes: routes.length,
    });
    output.print({
      text: `${printable(file)} is fine: ${channels.map(({ id, type }) => `${id} (${type})`).join(', ') || 'no channels'}`,
      tone: 'green',
    });
    return exitCodes.ok;
  } catch (error) {
    if (!(error instanceof ChannelsFileError)) throw error;
    const { problems } = error;
    output.printJson({ problems });
    output.print(
      ...problems.map(({ path, problem }) => ({
        text: printable(path === '' ? problem : `${path}: ${problem}`),
        tone: 'red' as const,
      })),
    );
    return exitCodes.refused;
  }
}

/** `countersign channels test <id>`: sends one message that is marked as a test, and reports the result. */
export async function testChannel(output: Output, id: string): Promise<ExitCode> {
  const { openChannels } = await import('@countersign/channels');
  const { systemClock } = await import('@countersign/runtime');
  const { env } = output.terminal;
  const { people, ...config } = await readConfigured(env);
  const publicUrl = publicUrlOf(env) ?? null;
  const channels = await openChannels(config, { clock: systemClock, publicUrl });
  const channel = channels.find((one) => one.id === id);
  if (channel === undefined) {
    const known = config.channels.map((one) => one.id).join(', ');
    throw localError('notFound', 'unknown-channel', `There is no channel "${id}".`, `Known are: ${known || 'none'}.`);
  }
  const labels = labelsFor(config.channels.find((one) => one.id === id));
  const [first] = people.filter((person) => isMailboxOf(channel, person, labels));
  const recipient = channel.addressing === 'personal' ? (first ?? null) : null;
  const { signal } = new AbortController();
  const result = await channel.send([{ ...testNotice(recipient), labels }], { signal });
  output.printJson({ channelId: id, ...result });
  output.print(...resultLines(id, result));
  return result.status === 'delivered' ? exitCodes.ok : exitCodes.unreachable;
}

/** A channel whose place a label names gets the test in the first place that the file allows. */
function labelsFor(config: ChannelConfig | undefined): Readonly<Record<string, string>> {
  const place = placeOf(config);
  return typeof place !== 'object' ? {} : { [place.label]: place.allow[0] ?? '' };
}

function placeOf(config: ChannelConfig | undefined): Place | undefined {
  switch (config?.type) {
    case 'telegram':
      return config.chat;
    case 'slack':
      return config.channel;
    case 'teams':
      return config.conversation;
    case 'email':
      return config.to;
    case 'webhook':
    case undefined:
      return undefined;
  }
}

function isMailboxOf({ mailbox }: Channel, person: Person, labels: Readonly<Record<string, string>>): boolean {
  const located = mailbox?.({ labels, approval: null });
  if (located === undefined) return person.email !== undefined;
  return located.status === 'known' && person.email?.toLowerCase() === located.place.toLowerCase();
}

function resultLines(id: string, result: SendResult): readonly Line[] {
  if (result.status !== 'delivered')
    return [{ text: `${id}: ${result.status}: ${printable(result.reason)}`, tone: 'red' }];
  const note: Line[] = result.note === undefined ? [] : [{ text: printable(result.note), tone: 'red' }];
  return [{ text: `${id}: delivered`, tone: 'green' }, ...note];
}

async function readConfigured(env: Readonly<Record<string, string | undefined>>): Promise<ChannelsConfig> {
  const config = await channelsOf(env);
  if (config !== undefined) return config;
  throw localError('usage', 'no-channels', 'COUNTERSIGN_CHANNELS is not set.', 'Name the channels file with it.');
}

/** A message about a made-up call. The call is blocked, so the message has no buttons and asks for no response. */
function testNotice(recipient: Notice['recipient']): Notice {
  const at = new Date().toISOString();
  const digest = `sha256:${'0'.repeat(64)}`;
  return {
    ...{ messageId: `test-${at}`, kind: 'blocked', nth: 0, approval: null, at, recipient },
    call: {
      ...{ callId: 'tc_test', runId: 'test', agentId: 'countersign channels test', batchId: null, toolCallId: 'test' },
      ...{ toolName: 'a test: nothing was asked', arguments: { test: true }, actionDigest: digest, state: 'blocked' },
      verdict: { outcome: 'block', ruleId: 'test', policyVersion: digest, automatic: true, why: ['a test'] },
      ...{ title: null, toolDescription: null, metadata: null },
      ...{ approval: null, output: null, error: null, instruction: null, requestedAt: at, settledAt: at, revision: 0 },
    },
  };
}
