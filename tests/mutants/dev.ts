/** Mutants of the development server. */
import { inNode, type Mutant } from './mutant.ts';

const src = 'packages/dev/src';
const test = 'packages/dev/test/dev.test.ts';

export const DEV: readonly Mutant[] = [
  {
    id: 'dev-foreign-host',
    requirement: null,
    claim: 'A page whose name was pointed at this machine reads the data of development.',
    file: `${src}/serve/dev-server.ts`,
    find: "if (!hosts.has(incoming.headers.host ?? ''))",
    replace: "if (incoming.headers.host === '')",
    killer: inNode(test, 'a foreign host name is refused'),
  },
  {
    id: 'dev-agent-of-a-page',
    requirement: null,
    claim: 'A page in a browser runs operations through the endpoint of the coding agent.',
    file: `${src}/agent/dev-agent.ts`,
    find: "if (request.headers.has('origin'))",
    replace: "if (request.headers.has('x-origin'))",
    killer: inNode(test, 'a page of another site at the endpoint of the agent is refused'),
  },
  {
    id: 'dev-error-without-request',
    requirement: null,
    claim: 'An error is not found at the request that it belongs to.',
    file: `${src}/instance/lines.ts`,
    find: "requests.note(trace, { level: 'error'",
    replace: "requests.note(undefined, { level: 'error'",
    killer: inNode(test, 'an error of a request has its place in the source'),
  },
  {
    id: 'dev-broken-load-without-place',
    requirement: null,
    claim: 'What the runtime refuses while a bundle is loaded is shown without its reason.',
    file: `${src}/instance/versions.ts`,
    find: 'if (last) return last;',
    replace: 'if (last) return null;',
    killer: inNode('packages/dev/test/program.test.ts', 'freehold dev --json says each event on a line'),
  },
  {
    id: 'dev-fresh-of-a-running-one',
    requirement: null,
    claim: '--fresh deletes the data of a server that is running.',
    file: `${src}/start-dev.ts`,
    find: '  requireFree(project);\n  onEvent({',
    replace: '  onEvent({',
    killer: inNode(test, 'a port that is taken, a folder that is open, and a damaged database'),
  },
];
