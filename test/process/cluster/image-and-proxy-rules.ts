const ours = 'countersign:local';
const operations = ['/metrics', '/readyz'];
/** Other spellings that a gateway may treat as one of them. */
const disguises = operations.flatMap((path) => [
  path,
  `/${path}`,
  `${path}/`,
  `${path};a=b`,
  path.toUpperCase(),
  path.replace('e', '%65'),
  path.replace('/', '/%2f'),
]);
const open = ['/', '/healthz', '/v1/approvals', '/v1/metrics', '/metricsx', '/assets/readyz.js'];

/** The images that a Dockerfile builds on. */
export function imagesOf(dockerfile: string): readonly string[] {
  return [...dockerfile.matchAll(/^FROM (\S+)|^# syntax=(\S+)/gm)].map(([, from, syntax]) => from ?? syntax ?? '');
}

/** True for our own image, and for one with a full version, with or without a digest. */
export function isPinned(image: string): boolean {
  return image === ours || /:\d+\.\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$/.test(image);
}

/** The problems of the proxy's file: it opens one port, and hides the operations routes. */
export function proxyProblems(text: string): readonly string[] {
  const lines = text.split('\n').map((line) => line.trim());
  const binds = lines.filter((line) => line.startsWith('bind '));
  const denied = lines.flatMap((line) => {
    const [, pattern] =
      /^http-request deny deny_status 404 if \{ path,url_dec -m reg -i '([^']+)' \}$/.exec(line) ?? [];
    return pattern === undefined ? [] : [new RegExp(pattern, 'i')];
  });
  const isDenied = (path: string): boolean => denied.some((pattern) => pattern.test(decodeURIComponent(path)));
  return [
    ...(binds.join() === 'bind :7400' ? [] : [`it listens at ${binds.join(', ')}`]),
    ...lines.filter((line) => /^stats /.test(line) || /prometheus-exporter/.test(line)),
    ...disguises.filter((path) => !isDenied(path)).map((path) => `${path} is open`),
    ...open.filter(isDenied).map((path) => `${path} is closed`),
  ];
}
