/**
 * The variables of every build of a Go program. A program runs for a moment, and most of a build is optimizations and what a debugger
 * reads. All builds have the same ones: others would compile the standard library again.
 */
export const quickGo = {
  GOTOOLCHAIN: 'local',
  CGO_ENABLED: '0',
  GOFLAGS: "-buildvcs=false '-gcflags=all=-N -l' '-ldflags=-s -w'",
};
