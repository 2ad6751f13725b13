import type { ApprovalView } from '@countersign/contracts';
import {
  approvalUrl,
  CountersignError,
  gateRemedy,
  modelNote,
  modelText,
  pendingText,
  type ToolResult,
} from '@countersign/worker-sdk';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import type { ListedTool } from './catalog.js';
import { LostRunError } from './inner-run.js';
import { objectOf, type Reply } from './wire.js';

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
    const message = `A person must decide about ${toolName} (approval ${approvalId}). Then call it again with the same arguments.`;
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
  return answered ? answerReply(result, tool) : resultReply(result, ran?.result ?? objectOf(result.output));
}

function resultReply(result: ToolResult, given: Readonly<Record<string, unknown>>): Reply {
  const { status, callId, edited, instruction } = result;
  if (!edited && instruction === null) return { result: given };
  const note = modelNote(result) ?? '';
  const content = Array.isArray(given['content']) ? (given['content'] as readonly unknown[]) : [];
  const meta = { ...objectOf(given['_meta']), [metaKey]: { status, callId, edited, arguments: result.arguments } };
  return { result: { ...given, content: [...content, { type: 'text', text: note }], _meta: meta } };
}

/** A person's output in place of the tool's. With an output schema only an object can be one. */
function answerReply(result: ToolResult, { outputSchema }: ListedTool): Reply {
  const content = [{ type: 'text', text: modelText(result) }];
  const meta = { [metaKey]: { status: result.status, callId: result.callId, answered: true } };
  if (outputSchema === undefined) return { result: { content, _meta: meta } };
  const { output } = result;
  const isObject = typeof output === 'object' && output !== null && !Array.isArray(output);
  return { result: { content, _meta: meta, ...(isObject ? { structuredContent: output } : { isError: true }) } };
}

/** Countersign refused or could not be asked. `ran` is set when the tool ran and only its report is missing. */
export function failureReply(error: unknown, ran: Reply | undefined): Reply {
  if (ran !== undefined) return ran;
  if (error instanceof LostRunError) {
    const text = `The connection to the MCP server was lost while the tool ran (${error.message}). It may or may not have taken effect; it is not run again.`;
    return refusal(text, { status: 'unknown' });
  }
  const cause = error instanceof Error ? error.message : String(error);
  const code = error instanceof CountersignError ? error.code : 'gate-error';
  return refusal(`The tool did not run: ${cause}. ${gateRemedy(code)}`, { status: 'failed', code });
}
