/** The frame around every page: the way to the others, the notices, and the page of the present address. */
import { lazy, type ReactNode, Suspense, useCallback, useMemo, useState } from 'react';
import type { Declaration } from '../src/wire/declared.ts';
import { Button, Icon, Link, RefusalNote } from './components/basics.tsx';
import { Dialog } from './components/dialog.tsx';
import { Failsafe, OwnPage } from './components/own-page.tsx';
import { App, type Notice, operationOf, type Surroundings, useApp } from './lib/app-context.tsx';
import { shortcuts, useKeys, useLoad } from './lib/hooks.ts';
import { chooseLanguage, LANGUAGES, type Language, language, t } from './lib/language.ts';
import { presentPath, usePlace } from './lib/router.ts';
import { EditPage } from './pages/edit-page.tsx';
import { HomePage } from './pages/home-page.tsx';
import { ListPage } from './pages/list-page.tsx';
import { NewPage } from './pages/new-page.tsx';
import { NotHere } from './pages/not-here.tsx';
import { RecordPage } from './pages/record-page.tsx';

/** Few readers import files: the page is fetched when it is needed. */
const ImportPage = lazy(() =>
  import('./pages/import-page.tsx').then((page) => ({ default: page.ImportPage })),
);

interface Placed extends Notice {
  readonly path: string;
}

export function Root({ around }: { readonly around: Surroundings }) {
  const { value, refusal, reload } = useLoad<Declaration>('/api/declaration');
  const [notice, setNotice] = useState<Placed | null>(null);
  // A notice stands as long as its page.
  const notify = useCallback(
    (next: Notice | null) => setNotice(next && { ...next, path: presentPath() }),
    [],
  );
  const app = useMemo(() => value && { declaration: value, around, notify }, [value, around, notify]);
  if (refusal)
    return (
      <main className="page">
        <h1>{around.business}</h1>
        <RefusalNote refusal={refusal} retry={reload} />
      </main>
    );
  if (!app) return null;
  return (
    <App value={app}>
      <Frame notice={notice} />
    </App>
  );
}

function Frame({ notice }: { readonly notice: Placed | null }) {
  const { around } = useApp();
  const { path } = usePlace();
  const [isHelping, setHelping] = useState(false);
  /** The page on which the menu was opened: the next one begins without it. */
  const [openAt, setOpenAt] = useState<string | null>(null);
  const isOpen = openAt === path;
  useKeys({ '?': () => setHelping(true) });
  return (
    <>
      <a className="skip" href="#main">
        {t.skip}
      </a>
      <div className="frame">
        <header className="side">
          <p className="brand">
            <Link to="/">
              <bdi>{around.business}</bdi>
            </Link>
          </p>
          <Button
            look="quiet"
            className="only-narrow"
            aria-expanded={isOpen}
            aria-controls="nav"
            onClick={() => setOpenAt(isOpen ? null : path)}
          >
            <Icon name="menu" />
            {t.menu}
          </Button>
          <Navigation isOpen={isOpen} onHelp={() => setHelping(true)} />
        </header>
        <main id="main" className="page" tabIndex={-1}>
          <NoticeBar notice={notice?.path === path ? notice : null} />
          <Page />
        </main>
      </div>
      {isHelping && <Shortcuts onClose={() => setHelping(false)} />}
    </>
  );
}

function Navigation({ isOpen, onHelp }: { readonly isOpen: boolean; readonly onHelp: () => void }) {
  const { declaration, around } = useApp();
  const { path } = usePlace();
  const kinds = declaration.kinds.filter(({ type }) => operationOf(declaration, `${type}/list`));
  return (
    <nav id="nav" aria-label={t.nav} className={isOpen ? 'open' : undefined}>
      <ul>
        <li>
          <Link to="/" aria-current={path === '/' ? 'page' : undefined}>
            {t.home}
          </Link>
        </li>
        {kinds.map(({ type, page, several }) => (
          <li key={type}>
            <Link to={page} aria-current={path === page || path.startsWith(`${page}/`) ? 'page' : undefined}>
              {several}
            </Link>
          </li>
        ))}
      </ul>
      <ul className="rest">
        {around.places.map((place) => (
          <li key={place.path}>
            <a href={place.path}>{place.name}</a>
          </li>
        ))}
        <li>
          <a href="/api/auth/logout?returnTo=%2F">{t.signOut}</a>
        </li>
        <li className="only-wide">
          <button type="button" onClick={onHelp}>
            {t.shortcuts}
          </button>
        </li>
        {around.languages && (
          <li>
            <label className="inline-field">
              <span>{t.chooseLanguage}</span>
              <select value={language} onChange={(event) => chooseLanguage(event.target.value as Language)}>
                {Object.entries(LANGUAGES).map(([key, name]) => (
                  <option key={key} value={key} lang={key}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          </li>
        )}
      </ul>
      <p className="who">
        {around.person}
        {around.roles.length > 0 && <span className="soft small">{around.roles.join(', ')}</span>}
      </p>
    </nav>
  );
}

function NoticeBar({ notice }: { readonly notice: Notice | null }) {
  const { notify } = useApp();
  return (
    <div role="status" className="notices">
      {notice && (
        <div className={`note ${notice.isBad ? 'bad' : 'good'}`}>
          <div>
            <p>{notice.text}</p>
            {notice.lines && notice.lines.length > 0 && (
              <ul>
                {notice.lines.map((line) => (
                  <li key={line}>{line}</li>
                ))}
              </ul>
            )}
          </div>
          <div className="row">
            {notice.undo && (
              <Button
                onClick={() => {
                  const { undo } = notice;
                  notify(null);
                  undo?.();
                }}
              >
                {t.undo}
              </Button>
            )}
            <Button look="quiet" className="square" aria-label={t.close} onClick={() => notify(null)}>
              <Icon name="close" />
            </Button>
          </div>
        </div>
      )}
    </div>
  );
}

/** The page of the present address: the application's own, where it has one in the place of ours. */
function Page() {
  const { declaration, around } = useApp();
  const { path } = usePlace();
  const { key, type, id, supplied } = pageAt(declaration, path);
  const own = around.own[key];
  return <Failsafe key={path}>{own ? <OwnPage {...{ type, id, supplied, own }} /> : supplied}</Failsafe>;
}

interface PageAt {
  /** As a declaration names it: `item/:id`; an empty text for none. */
  readonly key: string;
  readonly type: string | null;
  readonly id: string | null;
  readonly supplied: ReactNode;
}

function pageAt(declaration: Declaration, path: string): PageAt {
  if (path === '/') return { key: '/', type: null, id: null, supplied: <HomePage /> };
  const kind = declaration.kinds.find(({ page }) => path === page || path.startsWith(`${page}/`));
  if (!kind) return { key: '', type: null, id: null, supplied: <NotHere /> };
  const { type } = kind;
  const [id = '', step, ...more] = path.slice(kind.page.length + 1).split('/');
  const create = operationOf(declaration, `${type}/create`);
  const update = operationOf(declaration, `${type}/update`);
  const at = (key: string, record: string | null, supplied: ReactNode): PageAt => ({
    key,
    type,
    id: record,
    supplied,
  });
  if (id === '' && operationOf(declaration, `${type}/list`))
    return at(type, null, <ListPage key={type} kind={kind} />);
  if (id === 'new' && step === undefined && create)
    return at(`${type}/new`, null, <NewPage key={path} {...{ kind, create }} />);
  if (id === 'import' && step === undefined && operationOf(declaration, `${type}/import`))
    return at(
      '',
      null,
      <Suspense>
        <ImportPage key={path} kind={kind} />
      </Suspense>,
    );
  if (id !== '' && step === undefined)
    return at(`${type}/:id`, id, <RecordPage key={path} {...{ kind, id }} />);
  if (step === 'edit' && more.length === 0 && update)
    return at(`${type}/:id/edit`, id, <EditPage key={path} {...{ kind, update, id }} />);
  return at('', null, <NotHere {...(id !== '' && { kind })} />);
}

const KEYS = [
  ['/', 'search'],
  ['n', 'new'],
  ['e', 'edit'],
  ['j', 'down'],
  ['k', 'up'],
  ['Enter', 'openRow'],
  ['x', 'mark'],
  ['?', 'help'],
] as const;

function Shortcuts({ onClose }: { readonly onClose: () => void }) {
  const [areOn, setOn] = useState(shortcuts.areOn);
  return (
    <Dialog title={t.shortcuts} onClose={onClose}>
      <dl className="facts keys">
        {KEYS.map(([key, name]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t.keys[name]}</dd>
          </div>
        ))}
      </dl>
      <label className="check">
        <input
          type="checkbox"
          checked={areOn}
          onChange={(event) => {
            shortcuts.set(event.target.checked);
            setOn(event.target.checked);
          }}
        />
        {t.shortcutsOn}
      </label>
    </Dialog>
  );
}
