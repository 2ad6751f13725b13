import { jcsDigest } from './digest.js';
import type { JsonValue } from './json.js';

/** What a card shows a person, of one proposal. Hidden values are masked, as on the card. */
export interface ShownCard {
  readonly approvalId: string;
  readonly proposalDigest: string;
  /** Who asked in this round. */
  readonly requestedBy: string;
  readonly call: ShownCall;
  /** The arguments that would run, or the answer in their place. */
  readonly asked: JsonValue;
  readonly reason: string | null;
  readonly description: string | null;
  readonly instructions: readonly ShownInstruction[];
}

/** What the call says of itself on the card. */
export interface ShownCall {
  readonly callId: string;
  readonly runId: string;
  readonly agentId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly owner: string | null;
  readonly onBehalfOf: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly title: string | null;
  readonly toolDescription: string | null;
  readonly metadata: JsonValue;
}

interface ShownInstruction {
  readonly respondedBy: string;
  readonly instruction: string;
  readonly ifDenied?: true | undefined;
}

/**
 * The digest of a card that was shown: `sha256:` and the SHA-256 over the RFC 8785 (JCS) form of `{approvalId, asked,
 * call, description, instructions, proposalDigest, reason, requestedBy}`. In the place of each large part (`asked`,
 * `call`, `description`, `reason`, and the text of each instruction) stands its own digest; null stays null.
 */
export function displayDigest(card: ShownCard): string {
  const { approvalId, proposalDigest, requestedBy, call, asked, reason, description, instructions } = card;
  return jcsDigest({
    ...{ approvalId, proposalDigest, requestedBy },
    call: jcsDigest({ ...call }),
    asked: jcsDigest(asked),
    reason: textDigest(reason),
    description: textDigest(description),
    instructions: instructions.map(({ respondedBy, instruction, ifDenied }) => ({
      respondedBy,
      instruction: jcsDigest(instruction),
      ...(ifDenied === true && { ifDenied }),
    })),
  });
}

function textDigest(text: string | null): string | null {
  return text === null ? null : jcsDigest(text);
}
