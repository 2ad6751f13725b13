// `npm run check`: the types of everything, then ESLint. CI runs it in place of `npm run typecheck` and ESLint's own command: both look
// at one program, so that ESLint need not infer again what the compiler has just inferred.
import { join } from 'node:path';
import { ESLint } from 'eslint';
import ts from 'typescript';
import { ensureAdapters, root } from './prepare.mjs';

await ensureAdapters();
const programs = ['tsconfig.check.json', join('apps', 'inbox', 'tsconfig.json')].map(readProgram);
// The compiler comes first: some of its errors depend on the order in which it meets the types.
programs.forEach(checkTypes);
await lint();

function readProgram(name) {
  const file = join(root, name);
  const onUnRecoverableConfigFileDiagnostic = ({ messageText }) => {
    throw new Error(`${file}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
  };
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic };
  const once = { incremental: false, tsBuildInfoFile: undefined };
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(file, once, host);
  return ts.createProgram({
    rootNames: fileNames,
    options,
    configFileParsingDiagnostics: errors,
    // ESLint goes from a node to its parent.
    host: ts.createCompilerHost(options, true),
  });
}

function checkTypes(program) {
  const problems = ts.getPreEmitDiagnostics(program);
  if (problems.length === 0) return;
  const host = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => root, getNewLine: () => '\n' };
  console.error(ts.formatDiagnostics(problems, host));
  process.exitCode = 1;
}

async function lint() {
  const parserOptions = { programs, project: null };
  const eslint = new ESLint({
    cwd: root,
    overrideConfig: { files: ['**/*.{ts,tsx}'], languageOptions: { parserOptions } },
  });
  const results = await eslint.lintFiles(['.']);
  const formatter = await eslint.loadFormatter('stylish');
  console.log(await formatter.format(results));
  if (results.some(({ errorCount, warningCount }) => errorCount + warningCount > 0)) process.exitCode = 1;
}
