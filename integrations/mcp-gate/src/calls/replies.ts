import type { ApprovalView, JsonObject, JsonValue } from '@countersign/contracts';
import { nameWords } from '@countersign/text';
import {
  approvalUrl,
  CountersignError,
  gateRemedy,
  modelNote,
  modelText,
  pendingText,
  type ToolResult,
  withRemedy,
} from '@countersign/worker-sdk';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import type { ListedTool } from '../server/listed-tool.js';
import { GateEndedError } from '../client/client-requests.js';
import { withoutOurs } from '../server/foreign-words.js';
import { LostRunError } from '../server/inner-run.js';
import { isObject, objectOf, type Reply } from '../wire.js';

/** The member of `_meta` with what the ledger says about a call. */
export const metaKey = 'countersign/call';

/** A result that says why the tool did not run. */
export function refusal(text: string, meta: Readonly<Record<string, unknown>> = {}): Reply {
  return { result: { content: [{ type: 'text', text }], isError: true, _meta: { [metaKey]: meta } } };
}

/** The call waits for people. A client that opens addresses gets that of the card; opening it approves nothing. */
export function pendingReply(approval: ApprovalView, inboxUrl: string, opensUrls: boolean): Reply {
  const { approvalId, callId, toolName } = approval;
  const url = approvalUrl(inboxUrl, approvalId);
  if (opensUrls) {
    const message = `A person must decide about ${nameWords(toolName)} (approval ${approvalId}). Then call it again with the same arguments.`;
    const elicitations = [{ mode: 'url', elicitationId: approvalId, url, message }];
    return { error: { code: ErrorCode.UrlElicitationRequired, message, data: { elicitations } } };
  }
  return refusal(pendingText(approval, inboxUrl), { status: 'pending', approvalId, callId, url });
}

/**
 * The final result of a call. `ran` is the reply of the inner server when the tool ran in this process; it is passed on
 * as it is. After an edit or with an instruction one text is added, because the model must know.
 */
export function finalReply(result: ToolResult, tool: ListedTool, ran: Reply | undefined): Reply {
  const { status, callId, answered } = result;
  if (ran !== undefined && 'error' in ran) return ran;
  // The text of a failure is in the tool's own result.
  if (ran !== undefined && status === 'failed') return resultReply({ ...result, message: null }, ran.result);
  if (status !== 'succeeded') return refusal(modelText(result), { status, callId });
  const given = ran?.result ?? (answered ? undefined : recordedResult(result.output));
  return given === undefined ? outputReply(result, tool) : resultReply(result, given);
}

/** The result of an earlier run, as the ledger has it. It has none where a person gave the output, or it was too large. */
function recordedResult(output: JsonValue): Readonly<Record<string, unknown>> | undefined {
  const { content, structuredContent } = objectOf(output);
  if (!Array.isArray(content) && (content !== undefined || !isObject(structuredContent))) return undefined;
  // A gate without the draft extension for approvals may have recorded it.
  return withoutOurs(objectOf(output), true);
}

function resultReply(result: ToolResult, given: Readonly<Record<string, unknown>>): Reply {
  const { status, callId, edited, instruction } = result;
  if (!edited && instruction === null) return { result: given };
  return noted(given, modelNote(result) ?? '', { status, callId, edited, arguments: result.arguments });
}

/** A result with one text more. */
function noted(given: Readonly<Record<string, unknown>>, note: string, about: object): Reply {
  const content = Array.isArray(given['content']) ? (given['content'] as readonly unknown[]) : [];
  const _meta = { ...objectOf(given['_meta']), [metaKey]: about };
  return { result: { ...given, content: [...content, { type: 'text', text: note }], _meta } };
}

/**
 * The result of a tool whose report Countersign has not taken. After an edit the model must know which arguments ran.
 *
 * @param edited the arguments, when they are not those of the client.
 */
export function unreportedReply(ran: Reply, edited: JsonObject | undefined): Reply {
  if ('error' in ran || edited === undefined) return ran;
  const about = { edited: true, arguments: edited };
  return noted(ran.result, `Arguments: ${JSON.stringify(edited)}`, about);
}

/** An output that is no result of MCP. With an output schema only an object can be one, unless it says that there is none. */
function outputReply(result: ToolResult, { outputSchema }: ListedTool): Reply {
  const { status, callId, answered, output } = result;
  const { unrecorded } = answered ? {} : objectOf(output);
  const isUnrecorded = typeof unrecorded === 'string';
  const text = modelText(isUnrecorded ? { ...result, output: unrecorded } : result);
  const content = [{ type: 'text', text }];
  const _meta = { [metaKey]: { status, callId, answered } };
  if (outputSchema === undefined) return { result: { content, _meta } };
  const isResult = !isUnrecorded && isObject(output);
  return { result: { content, _meta, ...(isResult ? { structuredContent: output } : { isError: true }) } };
}

/** Countersign refused or could not be asked while the tool ran. */
export function startedReply(error: unknown): Reply {
  const cause = error instanceof Error ? error.message : String(error);
  const text = `The tool was started, and the gate does not hear how it ends (${cause}). It may or may not have taken effect; it is not run again.`;
  return refusal(text, { status: 'unknown' });
}

/** Countersign refused or could not be asked, and there is no result of the tool. */
export function failureReply(error: unknown): Reply {
  if (error instanceof LostRunError) {
    const text = `The connection to the MCP server was lost while the tool ran (${error.message}). It may or may not have taken effect; it is not run again.`;
    return refusal(text, { status: 'unknown' });
  }
  const cause = error instanceof Error ? error.message : String(error);
  return refusal(withRemedy(`The tool did not run: ${cause}`, remedyOf(error)), {
    status: 'failed',
    code: codeOf(error),
  });
}

function codeOf(error: unknown): string {
  if (error instanceof CountersignError) return error.code;
  return error instanceof TypeError ? 'invalid-request' : 'gate-error';
}

function remedyOf(error: unknown): string {
  if (error instanceof GateEndedError) return 'Begin a new session, and call again.';
  const code = codeOf(error);
  return code === 'gate-error' ? 'Check the MCP server, and call again.' : gateRemedy(code);
}
