import type { OtherDefinition, PlaceLabel } from '@countersign/contracts';

/** Nothing but what the server says of the tool differs. */
export const otherDefinition: OtherDefinition = 'with another definition of the tool';

/** Each label that says to what the arguments of a call are relative, with the words for another one. */
const places: Readonly<Record<PlaceLabel, string>> = {
  cwd: 'for another folder',
  mcpServer: 'for another MCP server',
  mcpEndpoint: 'for another MCP server',
  mcpDefinition: otherDefinition,
};

type Labels = Readonly<Record<string, string>>;

/** How the places of two calls differ; undefined: the same arguments mean the same. */
export function otherPlace(one: Labels, other: Labels): string | undefined {
  return Object.entries(places).find(([name]) => one[name] !== other[name])?.[1];
}
