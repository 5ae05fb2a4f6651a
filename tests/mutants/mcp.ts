/** Mutants of what MCP clients meet: lists and their pages, resources, prompts, progress, questions before a call. */
import { inNode, type Mutant } from './mutant.ts';

const src = 'packages/operations/src/mcp';
const endpoint = 'packages/vertical-host/src/mcp/mcp-endpoint.test.ts';
const fieldwork = 'examples/fieldwork/test/mcp.test.ts';

export const MCP: readonly Mutant[] = [
  {
    id: 'mcp-tools-without-grants',
    requirement: 'D-11',
    claim: 'A tool is hidden from a member who may use it for a single record.',
    file: 'packages/app/src/request/caller.ts',
    find: '[...permissions, ...recordPermissions]',
    replace: '[...permissions]',
    killer: inNode(fieldwork, 'a technician sees what an assignment lets him do'),
  },
  {
    id: 'mcp-cursor-of-another-list',
    requirement: 'D-11',
    claim: 'A cursor of another list is taken for a place in this one.',
    file: `${src}/pages.ts`,
    find: 'decodeCursor(cursorOf(list, cursor))',
    replace: "decodeCursor(cursor.replace(/^[a-z]+~/, ''))",
    killer: inNode(endpoint, 'refuses a cursor that is one of another list'),
  },
  {
    id: 'mcp-page-by-what-is-shown',
    requirement: 'D-11',
    claim: 'A list breaks off when the right to the last tool of a page is taken away meanwhile.',
    file: `${src}/pages.ts`,
    find: 'new Map(names.map((name, place) => [name, place]))',
    replace: 'new Map(shown.map(({ name }) => name).map((name, place) => [name, place] as const))',
    killer: inNode(endpoint, 'keeps its place when the last tool that was listed'),
  },
];
