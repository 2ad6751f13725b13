import { actionDigest, jcsDigest, placeLabelsOf, type ClaimView, type ToolCallView } from '@countersign/contracts';
import { CountersignError } from '../errors.js';

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

/** The tool as the executor has it, with the labels that say where it works. */
interface PlacedTool {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/**
 * Returns whether people agreed to a call in another folder, or of another server, than the tool works with: the same arguments are
 * another call there. Another definition of an MCP server's tool is told by that server's gate.
 */
export function isElsewhere({ approval }: Pick<ToolCallView, 'approval'>, { labels = {} }: PlacedTool): boolean {
  if (approval === null) return false;
  const own = placeLabelsOf(labels);
  const asked = placeLabelsOf(approval.labels);
  if (Object.keys(own).length === 0) return Object.keys(asked).length > 0;
  return Object.entries(own).some(([name, value]) => name !== 'mcpDefinition' && asked[name] !== value);
}

/** @throws CountersignError `tool-call-mismatch` when {@link isElsewhere}: nothing is claimed, so a worker of that place can run it. */
export function assertSamePlace(call: ToolCallView, tool: PlacedTool): void {
  if (!isElsewhere(call, tool)) return;
  const message = `${call.callId} was approved for another folder or server than the labels of ${tool.name} name here: run it with a worker of that place`;
  throw new CountersignError({ code: 'tool-call-mismatch', message });
}
