import {
  isMask,
  isShownText,
  jcsDigest,
  type ClientOutputBody,
  type JsonValue,
  type RequestedCall,
  type RequestToolCalls,
  type ToolCallView,
} from '@countersign/contracts';

/**
 * Returns the recorded calls of a request, in order; undefined while one is missing, or differs under the same id,
 * which the ledger reports itself.
 */
export function recordedCalls(
  body: RequestToolCalls,
  views: readonly ToolCallView[],
): readonly ToolCallView[] | undefined {
  const found = body.calls.map((call) => views.find((view) => isRecordedAs(body, call, view)));
  return found.includes(undefined) ? undefined : found.filter((view) => view !== undefined);
}

/** Returns whether `view` can be the record of `call`. */
export function isRecordedAs(body: RequestToolCalls, call: RequestedCall, view: ToolCallView): boolean {
  if (view.toolCallId !== call.toolCallId || view.toolName !== call.toolName) return false;
  if (body.agentId !== undefined && view.agentId !== body.agentId) return false;
  // Attack: another producer has recorded a laxer copy. The ledger opens the approval of our own call, or refuses ours.
  if (call.needsApproval === true && wasAllowed(view)) return false;
  // A denial has ended it, or the ledger refuses ours.
  if (call.deny !== undefined && isOpen(view)) return false;
  return isShownAs(call.arguments, view.originalArguments ?? view.arguments);
}

/** Returns whether the call may run, or people are asked about it. */
function isOpen({ state }: ToolCallView): boolean {
  return state === 'allowed' || state === 'awaiting_approval' || state === 'approved';
}

/** Returns whether the call may run, or has run, without an approval. */
function wasAllowed({ verdict, approval }: ToolCallView): boolean {
  return verdict.outcome === 'allow' && approval === null;
}

/** Returns whether the recorded result of a call can be this one. */
export function isShownResult(body: ClientOutputBody, view: ToolCallView): boolean {
  if (body.status === 'failed') return view.state === 'failed' && isShownAs(body.error, view.error);
  return view.state === 'succeeded' && isShownAs(body.output, view.output);
}

/** Returns whether `shown` can be the masked form of `asked`. */
function isShownAs(asked: JsonValue, shown: JsonValue): boolean {
  if (isMask(shown)) return true;
  if (typeof asked === 'string' && typeof shown === 'string') return isShownText(asked, shown);
  if (typeof asked !== 'object' || asked === null || typeof shown !== 'object' || shown === null) {
    return jcsDigest(asked) === jcsDigest(shown);
  }
  if (Array.isArray(asked) !== Array.isArray(shown)) return false;
  const members = asked as Readonly<Record<string, JsonValue>>;
  const others = shown as Readonly<Record<string, JsonValue>>;
  const names = Object.keys(members);
  return (
    names.length === Object.keys(others).length &&
    names.every((name) => {
      const [one, other] = [members[name], others[name]];
      return Object.hasOwn(others, name) && one !== undefined && other !== undefined && isShownAs(one, other);
    })
  );
}
