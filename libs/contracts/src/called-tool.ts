/** The tool of a call, the agent, and the id that the agent gave the call. */
export interface CalledTool {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly agentId: string;
}

/** The tool of a request. */
export function toCalledTool({ toolCallId, toolName, agentId }: CalledTool): CalledTool {
  return { toolCallId, toolName, agentId };
}
