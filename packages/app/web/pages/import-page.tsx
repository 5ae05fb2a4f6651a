/** Imports a file: its lines are judged, then taken over, all at once; cancelled, resumed, and undone. */
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { DeclaredKind } from '../../src/wire/declared.ts';
import { Button, Crumbs, Icon, Link, PageHead, RefusalNote } from '../components/basics.tsx';
import { ask, asRefusal, type Refusal } from '../lib/api.ts';
import { useLoad } from '../lib/hooks.ts';
import { t } from '../lib/language.ts';
import { navigate, usePlace } from '../lib/router.ts';

/** An answer of `<type>/import-show`. */
interface RecordImport {
  readonly id: string;
  readonly state: keyof typeof t.importStates;
  readonly filename: string | null;
  readonly columns: readonly { readonly name: string; readonly field: string | null }[];
  readonly fields: readonly { readonly name: string; readonly isRequired: boolean }[];
  readonly missing: readonly string[];
  readonly key: string | null;
  readonly keys: readonly string[];
  readonly duplicates: keyof typeof t.importWays;
  readonly lines: number;
  readonly ready: number;
  readonly errors: number;
  readonly skipped: number;
  readonly updates: number;
  readonly made: number;
  readonly changed: number;
  readonly left: number;
  readonly done: number;
  readonly total: number | null;
  readonly error: { readonly detail: string } | null;
}

/** States that pass by themselves: the page asks again. */
const PASSING: ReadonlySet<string> = new Set([
  'receiving',
  'checking',
  'applying',
  'finishing',
  'stopping',
  'undoing',
]);
const PAUSE_MS = 700;

export function ImportPage({ kind }: { readonly kind: DeclaredKind }) {
  const { search } = usePlace();
  const id = new URLSearchParams(search).get('import');
  return (
    <>
      <Crumbs kind={kind} />
      <PageHead title={t.importTitle(kind.several)} />
      {id === null ? <ChooseFile kind={kind} /> : <Progress key={id} {...{ kind, id }} />}
    </>
  );
}

const addressOf = ({ type }: DeclaredKind): string => `/api/${type}-imports`;

function labelOf({ fields }: DeclaredKind, name: string): string {
  return fields.find((field) => field.name === name)?.label ?? name;
}

function ChooseFile({ kind }: { readonly kind: DeclaredKind }) {
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const send = async (file: File | undefined): Promise<void> => {
    if (!file || isBusy) return;
    setBusy(true);
    setRefusal(null);
    try {
      const query = new URLSearchParams({ filename: file.name });
      const { value } = await ask<RecordImport>(`${addressOf(kind)}/file?${query}`, { file });
      navigate(`${kind.page}/import?import=${value.id}`);
    } catch (error) {
      setRefusal(asRefusal(error));
      setBusy(false);
    }
  };
  return (
    <section
      aria-label={t.importChoose}
      className={`card narrow ${isOver ? 'over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void send(event.dataTransfer.files[0]);
      }}
    >
      {refusal && <RefusalNote refusal={refusal} />}
      <p>{t.importWhat}</p>
      <p className="soft">{t.importFields(kind.fields.map(({ label }) => label).join(', '))}</p>
      <div className="row">
        <Button look="main" busy={isBusy} onClick={() => input.current?.click()}>
          {t.importChoose}
        </Button>
        <span className="soft only-wide">{t.importDrop}</span>
        <input
          ref={input}
          type="file"
          accept=".csv,.tsv,.txt,.xlsx,text/csv"
          hidden
          aria-label={t.importChoose}
          onChange={(event) => {
            const [file] = event.target.files ?? [];
            event.target.value = '';
            void send(file);
          }}
        />
      </div>
      <p role="status" className={isBusy ? 'soft' : 'said'}>
        {isBusy ? t.importStates.receiving : ''}
      </p>
    </section>
  );
}

function Progress({ kind, id }: { readonly kind: DeclaredKind; readonly id: string }) {
  const path = `${addressOf(kind)}/${id}`;
  const { value, refusal, reload } = useLoad<RecordImport>(path);
  const [refused, setRefused] = useState<Refusal | null>(null);
  const isPassing = value !== null && PASSING.has(value.state);
  useEffect(() => {
    if (!isPassing) return;
    const timer = setInterval(reload, PAUSE_MS);
    return () => clearInterval(timer);
  }, [isPassing, reload]);
  const run = async (to: string, body: object = {}): Promise<void> => {
    setRefused(null);
    try {
      await ask(to, { body, key: crypto.randomUUID() });
    } catch (error) {
      setRefused(asRefusal(error));
    }
    reload();
  };
  if (refusal) return <RefusalNote refusal={refusal} retry={reload} />;
  if (!value) return null;
  const { state, errors, made, changed, left, done, total } = value;
  const ready = value.ready + value.updates;
  const work = `/api/long-works/${id}`;
  const cancel = (
    <Button look="quiet" onClick={() => run(`${work}/cancel`)}>
      {t.cancel}
    </Button>
  );
  return (
    <section className="card narrow" aria-label={value.filename ?? t.import}>
      {value.filename && <h2>{value.filename}</h2>}
      {refused && <RefusalNote refusal={refused} />}
      <p role="status">{t.importStates[state]}</p>
      {value.error && <p className="fault">{value.error.detail}</p>}
      {isPassing && (
        <progress
          aria-label={t.importStates[state]}
          {...(total !== null && { max: Math.max(total, 1), value: done })}
        />
      )}
      {(state === 'checked' || state === 'mapping') && (
        <>
          {state === 'checked' && <Counts judged={value} />}
          {errors > 0 && (
            <p>
              <a className="button plain" href={`${path}/errors.csv`} download>
                <Icon name="save" />
                {t.importErrors}
              </a>{' '}
              <span className="soft small">{t.importErrorsWhat}</span>
            </p>
          )}
          <Mapping {...{ kind, judged: value }} onCheck={(plan) => run(`${path}/check`, plan)}>
            {state === 'checked' && ready > 0 && (
              <Button look="main" onClick={() => run(`${path}/apply`, errors > 0 ? { errors: 'leave' } : {})}>
                {t.importApply(ready)}
              </Button>
            )}
            {cancel}
          </Mapping>
        </>
      )}
      {isPassing && state !== 'stopping' && state !== 'undoing' && state !== 'finishing' && cancel}
      {state === 'halted' && (
        <div className="row">
          <Button look="main" onClick={() => run(`${work}/resume`)}>
            {t.resume}
          </Button>
          {cancel}
        </div>
      )}
      {(state === 'done' || state === 'undone') && (
        <>
          <p>{t.importMade(made, changed)}</p>
          {state === 'undone' && left > 0 && <p>{t.importLeft(left)}</p>}
          <div className="row">
            <Link className="button main" to={kind.page}>
              {kind.several}
            </Link>
            {state === 'done' && made + changed > 0 && (
              <Button onClick={() => run(`${path}/undo`)}>{t.importUndo}</Button>
            )}
          </div>
        </>
      )}
      {!isPassing && state !== 'checked' && state !== 'mapping' && state !== 'halted' && (
        <Link className="button quiet" to={`${kind.page}/import`}>
          {t.importAgain}
        </Link>
      )}
    </section>
  );
}

function Counts({ judged }: { readonly judged: RecordImport }) {
  return (
    <dl className="facts">
      {(Object.keys(t.importCounts) as (keyof typeof t.importCounts)[])
        .filter((name) => name === 'lines' || judged[name] > 0)
        .map((name) => (
          <div key={name}>
            <dt>{t.importCounts[name]}</dt>
            <dd>{judged[name]}</dd>
          </div>
        ))}
    </dl>
  );
}

interface Plan {
  readonly columns: Readonly<Record<string, string | null>>;
  readonly key: string | null;
  readonly duplicates: RecordImport['duplicates'];
}

/** Which column brings which field, and what becomes of lines whose record is there. */
function Mapping({
  kind,
  judged,
  onCheck,
  children,
}: {
  readonly kind: DeclaredKind;
  readonly judged: RecordImport;
  readonly onCheck: (plan: Plan) => void;
  /** Buttons for the plan as it was judged. */
  readonly children: ReactNode;
}) {
  const planned: Plan = {
    columns: Object.fromEntries(judged.columns.map(({ name, field }) => [name, field])),
    key: judged.key,
    duplicates: judged.duplicates,
  };
  const [plan, setPlan] = useState(planned);
  const isChanged = JSON.stringify(plan) !== JSON.stringify(planned);
  const keyLabel = (key: string) =>
    key
      .split('+')
      .map((name) => labelOf(kind, name))
      .join(' + ');
  return (
    <>
      {judged.missing.length > 0 && (
        <p className="note bad">
          {t.importMissing(judged.missing.map((name) => labelOf(kind, name)).join(', '))}
        </p>
      )}
      <h3>{t.importColumns}</h3>
      <table className="compared">
        <thead>
          <tr>
            <th>{t.importColumn}</th>
            <th>{t.importField}</th>
          </tr>
        </thead>
        <tbody>
          {judged.columns.map(({ name }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <select
                  aria-label={`${t.importField}: ${name}`}
                  value={plan.columns[name] ?? ''}
                  onChange={(event) =>
                    setPlan({ ...plan, columns: { ...plan.columns, [name]: event.target.value || null } })
                  }
                >
                  <option value="">{t.importIgnore}</option>
                  {judged.fields.map((field) => (
                    <option key={field.name} value={field.name}>
                      {labelOf(kind, field.name)}
                    </option>
                  ))}
                </select>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className="fields">
        <label className="inline-field">
          <span>{t.importKey}</span>
          <select
            value={plan.key ?? ''}
            onChange={(event) => {
              const key = event.target.value || null;
              setPlan({ ...plan, key, duplicates: key === null ? 'refuse' : plan.duplicates });
            }}
          >
            <option value="">{t.importNoKey}</option>
            {judged.keys.map((key) => (
              <option key={key} value={key}>
                {keyLabel(key)}
              </option>
            ))}
          </select>
        </label>
        {plan.key !== null && (
          <label className="inline-field">
            <span>{t.importDuplicates}</span>
            <select
              value={plan.duplicates}
              onChange={(event) => setPlan({ ...plan, duplicates: event.target.value as Plan['duplicates'] })}
            >
              {Object.entries(t.importWays).map(([way, label]) => (
                <option key={way} value={way}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <div className="row form-end">
        {isChanged ? (
          <>
            <Button look="main" onClick={() => onCheck(plan)}>
              {t.importCheck}
            </Button>
            <Button look="quiet" onClick={() => setPlan(planned)}>
              {t.cancel}
            </Button>
          </>
        ) : (
          children
        )}
      </div>
      {judged.errors > 0 && judged.ready + judged.updates > 0 && !isChanged && (
        <p className="soft small">{t.importLeave(judged.errors)}</p>
      )}
    </>
  );
}
