import { z } from 'zod';

/** The labels of a call. */
export const labelsSchema = z
  .record(z.string().min(1).max(128), z.string().max(512))
  .refine((labels) => Object.keys(labels).length <= 64, { error: 'at most 64 labels' })
  .meta({ maxProperties: 64 });

/**
 * The labels that say to what the arguments of a call are relative: the folder of a coding agent, and the MCP server with the
 * definition of its tool. The same arguments elsewhere are another call.
 */
const placeLabels = ['cwd', 'mcpServer', 'mcpEndpoint', 'mcpDefinition'] as const;

/** A label that says to what the arguments are relative. */
export type PlaceLabel = (typeof placeLabels)[number];

/** Returns those of the labels that say to what the arguments are relative. */
export function placeLabelsOf(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => placeLabels.some((one) => one === name)));
}
