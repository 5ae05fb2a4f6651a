/** Mutants of the command line. */
import { inNode, type Mutant } from './mutant.ts';

const src = 'packages/cli/src';
const test = 'packages/cli/test';

export const CLI: readonly Mutant[] = [
  {
    id: 'cli-token-of-another-address',
    requirement: 'C-33',
    claim: 'A control plane is sent the token of another one.',
    file: `${src}/settings/target.ts`,
    find: "const isOwn = profile !== undefined && baseUrl(profile.url, 'The address of the profile') === url;",
    replace:
      "const isOwn = profile !== undefined && baseUrl(profile.url, 'The address of the profile') !== '';",
    killer: inNode(`${src}/settings/target.test.ts`, 'is not given the token of another one'),
  },
  {
    id: 'cli-token-over-plain-http',
    requirement: null,
    claim: 'A token is sent to another machine without TLS.',
    file: `${src}/settings/target.ts`,
    find: "return protocol === 'http:' && !isHere",
    replace: "return protocol === 'ftp:' && !isHere",
    killer: inNode(`${src}/settings/target.test.ts`, 'cannot be at http://api.example.org'),
  },
  {
    id: 'cli-profiles-readable',
    requirement: null,
    claim: 'Others on the machine can read the tokens.',
    file: `${src}/settings/profiles.ts`,
    find: "flag: 'wx', mode: 0o600",
    replace: "flag: 'wx', mode: 0o644",
    killer: inNode(`${src}/settings/target.test.ts`, 'is whole, is only its owner'),
  },
  {
    id: 'cli-state-not-compared',
    requirement: null,
    claim: 'The sign-in of a program takes an answer with another state.',
    file: `${src}/login/loopback.ts`,
    find: "if (!isSame(one('state') ?? '', state))",
    replace: "if (one('state') === '' && !isSame('', state))",
    killer: inNode(`${test}/login.test.ts`, 'the place that the browser comes back to'),
  },
  {
    id: 'cli-host-not-compared',
    requirement: null,
    claim: 'The sign-in of a program takes an answer under another host name.',
    file: `${src}/login/loopback.ts`,
    find: 'if (host !== `127.0.0.1:${port}`) return notForUs;',
    replace: '',
    killer: inNode(`${test}/login.test.ts`, 'the place that the browser comes back to'),
  },
  {
    id: 'cli-overwrites-directory',
    requirement: 'A-04',
    claim: 'A new project replaces what another program put there in the meantime.',
    file: 'packages/dev/src/new/write-project.ts',
    find: 'renameSync(draft, directory);',
    replace: 'rmSync(directory, { recursive: true, force: true });\n    renameSync(draft, directory);',
    killer: inNode('packages/dev/src/new/write-project.test.ts', 'in the meantime'),
  },
  {
    id: 'cli-failed-draft-stays',
    requirement: null,
    claim: 'A project that could not be written leaves its draft.',
    file: 'packages/dev/src/new/write-project.ts',
    find: '    rmSync(draft, { recursive: true, force: true });\n    if (made',
    replace: '    if (made',
    killer: inNode('packages/dev/src/new/write-project.test.ts', 'is missing again after a failure'),
  },
  {
    id: 'cli-terminal-steered',
    requirement: null,
    claim: 'Text of a tenant steers the terminal of the operator.',
    file: `${src}/output/table.ts`,
    find: 'text.replaceAll(/[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]/gu,',
    replace: 'text.replaceAll(/[\\p{Zl}]/gu,',
    killer: inNode(`${src}/output/table.test.ts`, 'control characters cannot steer a terminal'),
  },
  {
    id: 'cli-usage-error-is-1',
    requirement: 'C-33',
    claim: 'A command line that cannot be used ends with another code than 2.',
    file: `${src}/lib/command-line.ts`,
    find: 'code === ExitCode.InvalidArgument || code === ExitCode.UnknownCommand) return 2;',
    replace: 'code === ExitCode.InvalidArgument) return 2;',
    killer: inNode(`${src}/lib/command-line.test.ts`, 'a command line that cannot be used'),
  },
  {
    id: 'cli-issuer-not-compared',
    requirement: null,
    claim: 'The sign-in of a program takes an answer of another server.',
    file: `${src}/login/loopback.ts`,
    find: "if (one('iss') !== issuer)",
    replace: "if (one('iss') === '')",
    killer: inNode(`${test}/login.test.ts`, 'another issuer'),
  },
];
