import type { ApprovalView } from '@countersign/contracts';

/** The RFC 8785 form of a JSON value, for what a passkey signs. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}

async function sha256(value: unknown): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonical(value))));
}

const base64url = (bytes: Uint8Array<ArrayBuffer>): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** The challenge over what a person signs. */
export const challengeOf = async (signed: object): Promise<string> => base64url(await sha256(signed));

/** A new nonce. */
export const newNonce = (): string => base64url(crypto.getRandomValues(new Uint8Array(16)));

async function digest(value: unknown): Promise<string> {
  return `sha256:${[...(await sha256(value))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** The digest of the card that is on the screen: made here, of the values that are shown, and compared by the server. */
export async function displayDigest(approval: ApprovalView): Promise<string> {
  const { callId, runId, agentId, toolCallId, toolName, owner, onBehalfOf, labels } = approval;
  const { title, toolDescription, metadata, proposal, instructions } = approval;
  const text = (words: string | null) => (words === null ? null : digest(words));
  return digest({
    approvalId: approval.approvalId,
    proposalDigest: proposal.digest,
    requestedBy: approval.requestedBy,
    call: await digest({
      ...{ callId, runId, agentId, toolCallId, toolName, owner, onBehalfOf, labels, title, toolDescription, metadata },
    }),
    asked: await digest(proposal.kind === 'answer' ? proposal.output : approval.arguments),
    reason: await text(approval.reason),
    description: await text(approval.description),
    instructions: await Promise.all(
      instructions.map(async (one) => ({ ...one, instruction: await digest(one.instruction) })),
    ),
  });
}
