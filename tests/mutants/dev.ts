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
    id: 'dev-half-migrated',
    requirement: null,
    claim: 'The good migrations of a broken save stay in the data.',
    file: `${src}/instance/versions.ts`,
    find: 'copy.putBack();',
    replace: 'copy.drop();',
    killer: inNode(test, 'a migration that fails is shown with its place'),
  },
  {
    id: 'dev-crash-half-migrated',
    requirement: null,
    claim: 'A start after a crash serves data that is half migrated.',
    file: `${src}/start-dev.ts`,
    find: 'new ScopeCopy(project.folder, data).putBack();',
    replace: 'new ScopeCopy(project.folder, data).drop();',
    killer: inNode(test, 'a start after a crash between two migrations puts the data back'),
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
