import type { ToolCallView } from '@countersign/worker-sdk';
import { metaKey } from '../calls/replies.js';
import { questionKey } from '../calls/round-reply.js';
import type { TaskRun } from '../calls/task-run.js';
import { NotRunError } from '../server/inner-run.js';
import { approvalMeta } from '../stateless/protocol.js';
import { ChangedDefinitionError } from '../calls/gated-tool.js';
import { objectOf, type Reply } from '../wire.js';
import { plainWords, type TaskWords } from './extension-view.js';

type Members = Readonly<Record<string, unknown>>;

type Disposition = 'approved-executed' | 'denied-not-executed' | 'execution-error' | 'outcome-unknown';

/** The words are the gate's own: a text of the agent or of an approver could give the model orders. */
const waiting = 'The call waits for an approval. It has not run, and may still be denied.';
const immediate = `${waiting} Go on with other work, and ask about the task later.`;

const ranText: Readonly<Record<Disposition, string>> = {
  'approved-executed': 'The tool ran, after its approval.',
  'denied-not-executed': 'The tool did not run.',
  'execution-error': 'The tool ran and failed. It may have taken effect.',
  'outcome-unknown': 'It is not known whether the tool ran to its end. It may have taken effect. Do not call it again.',
};

/** A call about which people were asked, as the draft describes its task. Every other task is that of the extension for tasks. */
export const approvalWords: TaskWords = {
  created: (call, facts) =>
    isWaiting(call)
      ? withMeta(said(plainWords.created(call, facts)), { ...denialOf('task'), [approvalMeta.immediate]: immediate })
      : plainWords.created(call, facts),
  open: (call, facts, inputRequests) => {
    const task = plainWords.open(call, facts, inputRequests);
    return isWaiting(call) ? withMeta(said(task), denialOf('task')) : task;
  },
  direct: withDisposition,
  ended: (call, facts, reply, run) => plainWords.ended(call, facts, withDisposition(call, reply, run), run),
};

/** Returns a reply that says whether the tool ran, when people were asked. */
function withDisposition(call: ToolCallView, reply: Reply, run: TaskRun | undefined): Reply {
  if (call.approval === null || call.state === 'cancelled') return reply;
  const disposition = dispositionOf(call, run);
  const isDenied = disposition === 'denied-not-executed' && call.state !== 'succeeded';
  const meta = { ...(isDenied ? finalDenial : {}), [approvalMeta.disposition]: disposition };
  return withText(withMeta(asResult(reply), meta), ranText[disposition]);
}

/**
 * Returns a reply of the gate itself with what the client may do about a denial. The status in the gate's member of `_meta`
 * is its own word: that of a server is taken out before.
 */
export function withDenial(reply: Reply): Reply {
  if ('error' in reply) return reply;
  const { _meta: meta, inputRequests } = reply.result;
  if (questionKey in objectOf(inputRequests)) return withMeta(reply, denialOf('url'));
  const { status, code } = objectOf(objectOf(meta)[metaKey]);
  if (code === 'too-many-requests') return withMeta(reply, finalDenial);
  if (status === 'pending') return withMeta(reply, denialWith('undisclosed'));
  return typeof status === 'string' && finalStatuses.includes(status) ? withMeta(reply, finalDenial) : reply;
}

const finalStatuses = ['denied', 'blocked', 'expired', 'too-many-tasks'];
const finalDenial = denialWith('unavailable');

function denialWith(remediation: 'available' | 'unavailable' | 'undisclosed', hints: Members = {}): Members {
  return { [approvalMeta.denial]: { reason: 'insufficient_authorization', remediation, ...hints } };
}

function denialOf(type: 'task' | 'url'): Members {
  return denialWith('available', { remediationHints: [{ type }] });
}

/** The denial says that the tool has not run, so it ends with the claim. */
function isWaiting({ state, approval }: ToolCallView): boolean {
  return approval !== null && (state === 'awaiting_approval' || state === 'approved');
}

/** Failures before the tool was called. */
const notRunCodes: readonly unknown[] = [
  ...['not-started', 'invalid-arguments', 'unknown-tool', 'denied-in-code'],
  ...['digest-mismatch', 'tool-schema-changed'],
];
const notRunNames: readonly unknown[] = [new ChangedDefinitionError().name, NotRunError.name];

const notRunStates: readonly string[] = ['denied', 'blocked', 'expired'];

/** In doubt the tool may have taken effect. */
function dispositionOf({ state, error, approval }: ToolCallView, run: TaskRun | undefined): Disposition {
  if (notRunStates.includes(state)) return 'denied-not-executed';
  if (state === 'failed') return hasNotRun(objectOf(error)) ? 'denied-not-executed' : 'execution-error';
  if (state !== 'succeeded') return unreported(run?.inner.reply());
  return approval?.proposal.kind === 'answer' ? 'denied-not-executed' : 'approved-executed';
}

function hasNotRun({ code, name }: Members): boolean {
  return notRunCodes.includes(code) || notRunNames.includes(name);
}

/** Countersign has not taken the report yet, or there is none. */
function unreported(ran: Reply | undefined): Disposition {
  if (ran === undefined) return 'outcome-unknown';
  return 'error' in ran || ran.result['isError'] === true ? 'execution-error' : 'approved-executed';
}

/** After the claim an error of JSON-RPC is a result: `failed` would say that the client may call again. */
function asResult(reply: Reply): Reply {
  if ('result' in reply) return reply;
  const text = `The MCP server replied with the error ${String(reply.error.code)}: ${reply.error.message}`;
  return { result: { content: [{ type: 'text', text }], isError: true } };
}

function said(reply: Reply): Reply {
  return 'error' in reply ? reply : { result: { ...reply.result, statusMessage: waiting } };
}

function withMeta(reply: Reply, meta: Members): Reply {
  if ('error' in reply) return reply;
  return { result: { ...reply.result, _meta: { ...objectOf(reply.result['_meta']), ...meta } } };
}

function withText(reply: Reply, text: string): Reply {
  if ('error' in reply) return reply;
  const { content } = reply.result;
  const given = Array.isArray(content) ? (content as readonly unknown[]) : [];
  return { result: { ...reply.result, content: [...given, { type: 'text', text }] } };
}
