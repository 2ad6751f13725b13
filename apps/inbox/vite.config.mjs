import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react(), nameless(), compressed()],
  build: {
    target: 'es2022',
    // Data URLs aside, the policy of the page allows files of its own origin alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
    // Parts that several pages share, and the small pages, in one file each: many small ones compress worse.
    rolldownOptions: {
      // No module that is left out reads a property for what its getter does.
      treeshake: { propertyReadSideEffects: false },
      output: {
        codeSplitting: {
          groups: [
            { name: 'shared', test: /apps.inbox.src|libs/, minShareCount: 2, priority: 1 },
            {
              name: 'small-pages',
              test: /inbox.src.(?:call|grants|history|insights|passkeys|policy|unknown)[\\/]/,
              includeDependenciesRecursively: false,
            },
          ],
        },
      },
    },
  },
});

/** Radix keeps the names of its functions for debugging (`__name(…, "Dialog")`). They are 2 kB of what a person loads. */
function nameless() {
  return {
    name: 'countersign-nameless',
    apply: 'build',
    transform: (code, id) =>
      id.includes('@radix-ui')
        ? code
            .replace(/^var __name = .*;$/m, 'var __name = (target) => target;')
            .replaceAll(/^\s*__name\(\w+, "\w+"\);$/gm, '')
            .replaceAll(/\}, "\w+"\)/g, '})')
        : undefined,
  };
}

/** Compresses once, at the build, what is sent many times. */
function compressed() {
  return {
    name: 'countersign-compressed',
    apply: 'build',
    writeBundle: ({ dir }) => {
      if (dir === undefined) return;
      for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(?:js|css|html|svg)$/.test(name)) continue;
        const file = join(dir, name);
        const bytes = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
        const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: quality }));
      }
    },
  };
}
