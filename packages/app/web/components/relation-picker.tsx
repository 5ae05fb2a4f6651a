/** Chooses another record by its name: a combobox with a list (ARIA authoring practices, "Combobox"). */
import { useEffect, useRef, useState } from 'react';
import type { DeclaredKind } from '../../src/wire/declared.ts';
import { ask, asRefusal } from '../lib/api.ts';
import { kindOf, operationOf, useApp } from '../lib/app-context.tsx';
import type { JsonRecord } from '../lib/forms.ts';
import { t } from '../lib/language.ts';
import type { Related } from '../lib/values.ts';
import { Button, Icon } from './basics.tsx';
import type { Wiring } from './field.tsx';

const HITS_MAX = 8;
/** A type of records without a search shows so many, and narrows them in the browser. */
const UNSEARCHED_MAX = 100;
const PAUSE_MS = 200;

interface PickerProps {
  readonly target: string;
  readonly label: string;
  readonly value: Related | null;
  readonly wiring: Wiring;
  readonly onChange: (value: Related | null) => void;
  /** Default: a call to choose. */
  readonly placeholder?: string;
}

export function RelationPicker(props: PickerProps) {
  const { target, label, value, wiring, onChange, placeholder = t.choose } = props;
  const { declaration } = useApp();
  const kind = kindOf(declaration, target);
  const mayList = kind !== undefined && operationOf(declaration, `${target}/list`) !== undefined;
  const name = useName(kind, value);
  const [text, setText] = useState<string | null>(null);
  const [hits, setHits] = useState<readonly Related[]>([]);
  const [at, setAt] = useState(-1);
  const [said, setSaid] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const isOpen = text !== null;

  useEffect(() => {
    if (text === null || !kind || !mayList) return;
    const stop = new AbortController();
    const wait = setTimeout(async () => {
      try {
        const found = await search(kind, text, stop.signal);
        setHits(found);
        setAt(found.length > 0 ? 0 : -1);
        setSaid(found.length === 0 ? t.noMatch : t.matches(found.length));
      } catch (error) {
        if (!stop.signal.aborted) setSaid(asRefusal(error).message);
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(wait);
      stop.abort();
    };
  }, [text, kind, mayList]);

  const close = () => {
    setText(null);
    setHits([]);
    setAt(-1);
    setSaid('');
  };
  const choose = (hit: Related | undefined) => {
    if (hit) onChange(hit);
    close();
  };

  if (!mayList)
    // Those who may not open the list can still name a record whose id they were given.
    return (
      <input
        {...wiring}
        value={value?.id ?? ''}
        autoComplete="off"
        onChange={(event) =>
          onChange(event.target.value === '' ? null : { id: event.target.value, name: null })
        }
      />
    );
  const list = `${wiring.id}-list`;
  return (
    <div className="picker">
      <input
        {...wiring}
        ref={input}
        role="combobox"
        aria-expanded={isOpen && hits.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined}
        autoComplete="off"
        value={text ?? name}
        placeholder={placeholder}
        onFocus={(event) => event.target.select()}
        onClick={() => text === null && setText('')}
        onChange={(event) => setText(event.target.value)}
        onBlur={close}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined) {
            event.preventDefault();
            if (isOpen) setAt((at + step + hits.length) % Math.max(hits.length, 1));
            else setText('');
          } else if (event.key === 'Enter' && isOpen) {
            event.preventDefault();
            choose(hits[at]);
          } else if (event.key === 'Escape' && isOpen) {
            // The dialog around stays open.
            event.preventDefault();
            event.stopPropagation();
            close();
          }
        }}
      />
      {value !== null && (
        <Button
          look="quiet"
          className="square"
          aria-label={t.removeChoice(label)}
          onClick={() => {
            onChange(null);
            close();
            input.current?.focus();
          }}
        >
          <Icon name="close" />
        </Button>
      )}
      <div id={list} role="listbox" aria-label={label} hidden={!isOpen || hits.length === 0}>
        {hits.map((hit, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the input, which keeps the focus.
          <div
            key={hit.id}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(hit)}
          >
            {hit.name || t.unnamed}
          </div>
        ))}
      </div>
      <span className="said" role="status">
        {said}
      </span>
    </div>
  );
}

async function search(
  {
    path,
    title,
    isSearched,
  }: { readonly path: string; readonly title: string; readonly isSearched: boolean },
  text: string,
  signal: AbortSignal,
): Promise<readonly Related[]> {
  const query = new URLSearchParams({ limit: String(isSearched ? HITS_MAX : UNSEARCHED_MAX) });
  if (isSearched && text.trim() !== '') query.set('q', text.trim());
  const { value } = await ask<{ items: readonly JsonRecord[] }>(`${path}?${query}`, { signal });
  const all = value.items.map((item) => ({ id: item.id as string, name: String(item[title] ?? '') }));
  const wanted = text.trim().toLowerCase();
  return isSearched ? all : all.filter(({ name }) => name.toLowerCase().includes(wanted)).slice(0, HITS_MAX);
}

const names = new Map<string, string>();

/** The name of a related record, asked for where only its id is known. */
export function useName(
  kind: Pick<DeclaredKind, 'path' | 'title'> | undefined,
  related: Related | null,
): string {
  const address = related?.id && kind ? `${kind.path}/${related.id}` : null;
  const [, setTimes] = useState(0);
  const isKnown = related === null || related.name !== null || address === null || names.has(address);
  const title = kind?.title ?? '';
  useEffect(() => {
    if (isKnown || address === null) return;
    ask<JsonRecord>(address)
      .then(({ value }) => names.set(address, String(value[title] ?? '')))
      .catch(() => names.set(address, t.hidden))
      .finally(() => setTimes((before) => before + 1));
  }, [address, isKnown, title]);
  if (related === null) return '';
  return related.name ?? (address === null ? t.hidden : (names.get(address) ?? ''));
}
