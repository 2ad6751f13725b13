import { actionDigest, jcsDigest, type ClaimView, type ToolCallView } from '@countersign/contracts';

/** The tool as the executor knows it. */
export interface ClaimedTool {
  readonly name: string;
  /** Null for a tool without a schema. */
  readonly toolSchemaHash: string | null;
}

/** Why a claim must not be executed. */
export interface ClaimProblem {
  readonly code: 'digest-mismatch' | 'tool-schema-changed';
  readonly message: string;
}

/** The problem of approved arguments that are others once they are validated again. */
export const changedArguments: ClaimProblem = {
  code: 'digest-mismatch',
  message: 'The tool would run with other arguments than the approved ones: validated now, they are different',
};

/**
 * Returns the problem of a claim, if it has one. The digest is computed over the arguments that are about to be passed
 * and this worker's own view of agent, run, call and tool. A claim with another digest is refused.
 */
export function problemOfClaim(
  claim: ClaimView,
  call: ToolCallView,
  tool: ClaimedTool,
  argumentsHash: string | null,
): ClaimProblem | undefined {
  const { digestInput } = claim;
  if (digestInput.toolSchemaHash !== tool.toolSchemaHash) {
    return {
      code: 'tool-schema-changed',
      message: `The input schema of ${tool.name} is not the one that was approved`,
    };
  }
  const recomputed = actionDigest(
    {
      tenant: digestInput.tenant,
      agentId: call.agentId,
      runId: call.runId,
      toolCallId: call.toolCallId,
      toolName: tool.name,
      toolSchemaHash: tool.toolSchemaHash,
      salt: digestInput.salt,
    },
    claim.arguments,
  );
  if (recomputed !== claim.actionDigest || claim.actionDigest !== call.actionDigest) {
    return { code: 'digest-mismatch', message: 'The arguments to run are not those of the approved digest' };
  }
  const edited = call.originalArguments !== undefined;
  if (!edited && argumentsHash !== null && jcsDigest(claim.arguments) !== argumentsHash) {
    return { code: 'digest-mismatch', message: 'The arguments to run are not those that were asked for' };
  }
  return undefined;
}
