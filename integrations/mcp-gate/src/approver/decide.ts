import type { ApprovalView } from '@countersign/contracts';
import { nameWords, needsSignature } from '@countersign/text';
import { approvalUrl, type Client } from '@countersign/worker-sdk';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { decisionForm, filledFormSchema } from './decision-form.js';

/** Parts of the MCP server for approvers. */
export interface DecidePorts {
  readonly server: McpServer['server'];
  readonly ledger: Pick<Client, 'getApproval' | 'respond'>;
  readonly inboxUrl: string;
}

/** Asks the person at the client to decide, and sends what they chose. Returns a sentence for the model. */
export type Decide = (approvalId: string, signal: AbortSignal) => Promise<string>;

/** A person may read for long. The approval ends at its own deadline. */
const formMs = 3_600_000;

/**
 * The model names the approval and nothing else: the decision is that of the form. A person sees one form at a time, and
 * is not asked again about an approval after they declined to answer.
 */
export function createDecide({ server, ledger, inboxUrl }: DecidePorts): Decide {
  const declined = new Set<string>();
  let isAsking = false;

  const ask = async (approval: ApprovalView, signal: AbortSignal): Promise<string> => {
    const { approvalId, proposal, shownDigest, shownRevision, shownOthersDigest, toolName } = approval;
    const url = approvalUrl(inboxUrl, approvalId);
    const elsewhere = `Nothing was decided. A person decides about ${approvalId} at ${url}`;
    if (!canAsk(server)) {
      throw new Error(`This client cannot ask its user (form elicitation). ${elsewhere}`);
    }
    if (needsSignature(approval.requirement)) {
      throw new Error(`Only an answer that is signed with a passkey counts. ${elsewhere}`);
    }
    const form = decisionForm(approval, url);
    if (form === undefined) throw new Error(`What is asked is too long for a form. ${elsewhere}`);
    const { action, content } = await server.elicitInput(form, { signal, timeout: formMs });
    if (action !== 'accept') {
      if (action === 'decline') declined.add(approvalId);
      throw new Error(`The person did not answer the form (${action}). ${elsewhere}`);
    }
    const filled = filledFormSchema.safeParse(content);
    if (!filled.success) throw new Error(`The client sent the form without a decision. ${elsewhere}`);
    const { decision, ...remarks } = filled.data;
    // What the person saw: the ledger rejects the response when something else is asked now. The form may be open for an hour, so
    // an approval also names the revision: it brings back none that the person took back elsewhere. A denial only restricts: nothing that
    // others say or withdraw makes an old one of it.
    const others = shownOthersDigest === undefined ? {} : { shownOthersDigest };
    const agreedTo = decision === 'deny' ? {} : { shownDigest, shownRevision, ...others };
    const shown = { proposalDigest: proposal.digest, ...agreedTo };
    const { state } = await ledger.respond(
      approvalId,
      { decision: { type: decision }, ...shown, ...remarks },
      { signal },
    );
    const more = state === 'pending' ? ' More people must decide.' : '';
    return `The person at this client chose "${decision}" for ${nameWords(toolName)}. The approval ${approvalId} is ${state}.${more}`;
  };

  return async (approvalId, signal) => {
    if (isAsking) throw new Error('The person has another form open. Call again when it is answered.');
    if (declined.has(approvalId)) {
      const url = approvalUrl(inboxUrl, approvalId);
      throw new Error(`The person declined to decide about ${approvalId} here. They decide at ${url}`);
    }
    isAsking = true;
    try {
      const approval = await ledger.getApproval(approvalId, { signal });
      if (approval.state !== 'pending') return `Nothing was decided: the approval ${approvalId} is ${approval.state}.`;
      const { mayDecide } = approval;
      if (mayDecide?.now === false) return `Nothing was decided: ${mayDecide.detail}`;
      return await ask(approval, signal);
    } finally {
      isAsking = false;
    }
  };
}

const canAsk = (server: DecidePorts['server']): boolean =>
  server.getClientCapabilities()?.elicitation?.form !== undefined;
