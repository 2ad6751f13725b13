import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

const knownPaths = [
  // The same engine without windows: a page costs it half of the processor time.
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/**
 * The path of Chromium on this machine. @throws Error saying how to install it: a browser test must not pass without a
 * browser.
 */
export function chromiumPath(): string {
  const given = process.env['CHROMIUM'];
  const found = given ?? knownPaths.find((path) => existsSync(path));
  if (found !== undefined && existsSync(found)) return found;
  throw new Error(
    `there is no Chromium at ${given ?? knownPaths.join(', ')}: apt-get install chromium-headless-shell (or chromium), or name yours in CHROMIUM`,
  );
}

/** A headless Chromium. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    // In a container there is neither a kernel sandbox for it nor much shared memory.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
  });
}
