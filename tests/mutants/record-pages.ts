/** Mutants of the pages of records: what is offered to whom, what a form sends, what an address keeps. */
import { inNode, type Mutant } from './mutant.ts';

const server = 'packages/app/src/record-pages';
const web = 'packages/app/web/lib';
const pages = 'packages/app/test/record-pages.test.ts';
const forms = 'packages/app/test/web/forms.test.ts';
const values = 'packages/app/test/web/values.test.ts';
const lists = 'packages/app/test/web/lists.test.ts';

export const RECORD_PAGES: readonly Mutant[] = [
  {
    id: 'pages-all-operations-told',
    requirement: null,
    claim: 'A caller is told of operations that they may not perform.',
    file: `${server}/declaration-routes.ts`,
    find: 'operations.filter(({ declaration }) => mayPerform(declaration, held, caller))',
    replace: 'operations.filter(() => caller !== undefined)',
    killer: inNode(pages, 'a caller is told of no operation that they may not perform'),
  },
  {
    id: 'pages-grant-for-another-record',
    requirement: null,
    claim: 'A grant for one record offers the operation on every other one.',
    file: `${server}/declaration-routes.ts`,
    find: 'return proofs.length > 0;',
    replace: 'return proofs.length >= 0;',
    killer: inNode(pages, 'a grant for one record offers its operations there, and nowhere else'),
  },
  {
    id: 'pages-archived-changed',
    requirement: null,
    claim: 'An archived record is offered to be changed.',
    file: `${server}/declaration-routes.ts`,
    find: 'return !(isArchived && (name',
    replace: 'return !(!isArchived && (name',
    killer: inNode(pages, 'for one record there are the operations that may be performed on it now'),
  },
  {
    id: 'pages-script-of-others',
    requirement: null,
    claim: 'The page of records runs scripts of other origins.',
    file: `${server}/shell-page.ts`,
    find: `"default-src 'self'",`,
    replace: `"default-src https:",`,
    killer: inNode(pages, 'the page of a member runs our own files alone'),
  },
  {
    id: 'pages-shell-for-strangers',
    requirement: null,
    claim: 'A person who is no member gets the page of records.',
    file: `${server}/shell-page.ts`,
    find: "if (x.me.status !== 'member') return frontPage(x);",
    replace: "if (x.me.status === 'signed_out') return frontPage(x);",
    killer: inNode(pages, 'others than members get the supplied page at every address'),
  },
  {
    id: 'pages-unchanged-sent',
    requirement: null,
    claim: 'A form sends fields that were not changed, and undoes what others changed meanwhile.',
    file: `${web}/forms.ts`,
    find: 'fields.filter(({ name }) => !isSame(before[name] ?? null, values[name] ?? null))',
    replace: 'fields.filter(({ name }) => name in values)',
    killer: inNode(forms, 'a change has what differs alone'),
  },
  {
    id: 'pages-typed-lost',
    requirement: null,
    claim: 'A change of another person takes away what was typed.',
    file: `${web}/forms.ts`,
    find: '(now[name] ?? null) : mine',
    replace: '(now[name] ?? null) : (now[name] ?? null)',
    killer: inNode(forms, 'where another person was faster, what was typed stays'),
  },
  {
    id: 'pages-money-by-hundred',
    requirement: null,
    claim: 'An amount of a currency without cents is taken for cents.',
    file: `${web}/values.ts`,
    find: 'fraction.length > digits',
    replace: 'fraction.length > 2',
    killer: inNode(values, 'a currency without a smaller unit takes none'),
  },
  {
    id: 'pages-groups-as-decimals',
    requirement: null,
    claim: 'The separator of thousands is read as that of decimals.',
    file: `${web}/values.ts`,
    find: "(isGrouped ? bare.replaceAll(group, '') : bare)",
    replace: 'bare',
    killer: inNode(values, 'the amount 1,250'),
  },
  {
    id: 'pages-undeclared-filter',
    requirement: null,
    claim: 'A page asks for a combination of filters that is not declared, and is refused.',
    file: `${web}/lists.ts`,
    find: 'filters: isCombination(kind.filters, Object.keys(filters)) ? filters : {},',
    replace: 'filters,',
    killer: inNode(lists, 'what is not declared is not asked for'),
  },
];
