import type { Tool, ToolSet } from '@countersign/resolver';
import type { Machine } from './machine.ts';
import type { Outside } from './outside.ts';
import { tryTool } from './tool-behaviour.ts';
import type { World } from './world.ts';

/** The tools that the service executes: with approval or without, repeatable or not. */
const specs = [
  { name: 'pay', idempotent: false, needsApproval: true },
  { name: 'pay_two', idempotent: false, needsApproval: true },
  { name: 'pay_nudge', idempotent: true, needsApproval: true },
  { name: 'pay_silent', idempotent: false, needsApproval: true },
  { name: 'lookup', idempotent: true, needsApproval: false },
  { name: 'post', idempotent: false, needsApproval: false },
] as const;

/** The tools of the tools file, run on one machine. */
export function createServiceTools(world: World, outside: Outside, machine: Machine): ToolSet {
  const tools = specs.map((spec): Tool => ({
    ...spec,
    tenant: 'default',
    inputSchema: null,
    validate: () => [],
    run: (run) => tryTool(world, outside, machine, run, run.signal),
  }));
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return { tools, find: (tenant, name) => (tenant === 'default' ? byName.get(name) : undefined) };
}

/** The tool facts for the write side. */
export const serviceToolFacts = {
  find: (tenant: string, name: string) => {
    const spec = tenant === 'default' ? specs.find((one) => one.name === name) : undefined;
    return spec === undefined ? undefined : { ...spec, inputSchema: null };
  },
};
