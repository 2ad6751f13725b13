import type { Capabilities } from '@countersign/conformance';

const framework = { pauses: true, streaming: true, nested: true, partial: true, forge: true } as const;

/** The capabilities of the agents that the kit tries, by the columns of the table in docs/conformance.md. */
export const agents = {
  'AI SDK': { ...framework, partial: false },
  'OpenAI Agents': framework,
  LangChain: framework,
  Mastra: framework,
  'Agent Framework': { ...framework, nested: false, partial: false },
  A2A: { ...framework, nested: false },
  'AG-UI': { ...framework, nested: false },
  'MCP gate': { ...framework, streaming: false, nested: false, forge: false },
  'own loop': { ...framework, streaming: false, nested: false, forge: false },
} as const satisfies Readonly<Record<string, Capabilities>>;

/** A nested agent of Agent Framework waits in its process. */
export const nestedInAgentFramework: Capabilities = { ...agents['Agent Framework'], nested: true, pauses: false };
