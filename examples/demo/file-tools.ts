// Files: free within the workspace, gated everywhere else.
import { constants } from 'node:fs';
import { mkdir, open, readdir, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { gateTool, type ExecutionContext, type GateTool } from '@countersign/worker-sdk';
import { z } from 'zod';
import { isWithin, realPath } from './real-path.ts';

export function createFileTools(workspace: string): readonly GateTool[] {
  // The schema turns each path into the real one, so that people see, the digest binds, and the tool uses the same
  // path. A folder that is replaced by a link after the approval changes the path, and the call is refused.
  const path = z
    .string()
    .min(1)
    .transform((given) => realPath(workspace, given));
  const isOutside = (input: { readonly path: string }): boolean => !isWithin(workspace, input.path);

  /** Checked again at the run: a call without approval must still be within the workspace. */
  const assertPermitted = (input: { readonly path: string }, { approval }: ExecutionContext): void => {
    if (approval === null && isOutside(input)) throw new Error(`${input.path} is outside of the workspace`);
  };

  const listFiles = gateTool({
    name: 'list_files',
    description: 'Lists a folder',
    inputSchema: z.strictObject({ path }),
    needsApproval: isOutside,
    approvalPrompt: (input) => `List ${input.path}`,
    execute: async (input, context) => {
      assertPermitted(input, context);
      return (await readdir(input.path)).sort();
    },
  });

  const writeFile = gateTool({
    name: 'write_file',
    description: 'Writes a file',
    inputSchema: z.strictObject({ path, content: z.string() }),
    needsApproval: isOutside,
    approvalPrompt: (input) => `Write ${String(Buffer.byteLength(input.content))} bytes to ${input.path}`,
    execute: async (input, context) => {
      assertPermitted(input, context);
      await mkdir(dirname(input.path), { recursive: true });
      // Attack: a link put in place of the file at this very moment. It is not followed.
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
      const file = await open(input.path, flags);
      try {
        await file.writeFile(input.content);
      } finally {
        await file.close();
      }
      return { written: input.path };
    },
  });

  const deleteFile = gateTool({
    name: 'delete_file',
    description: 'Deletes a file',
    inputSchema: z.strictObject({ path }),
    needsApproval: isOutside,
    approvalPrompt: (input) => `Delete ${input.path}`,
    execute: async (input, context) => {
      assertPermitted(input, context);
      await unlink(input.path);
      return { deleted: input.path };
    },
  });
  return [listFiles, writeFile, deleteFile];
}
