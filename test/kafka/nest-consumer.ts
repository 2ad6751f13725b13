import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '..', '..');

/** Compiles the NestJS microservice of the guide as `nest start` does, in a folder that has the packages. */
export function compiledNest(): { readonly file: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-nest-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const source = readFileSync(join(root, 'examples', 'notifier', 'nest', 'consumer.ts'), 'utf8');
  const compilerOptions = {
    ...{ module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
  };
  const file = join(folder, 'consumer.mjs');
  writeFileSync(file, ts.transpileModule(source, { compilerOptions }).outputText);
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
