/** Choosing a customer by typing (the ARIA combobox pattern), or adding the one that was typed. */
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { type Customer, call } from '../lib/api.ts';
import { useLoad } from '../lib/use-load.ts';

/** Long enough to type a syllable: not every letter becomes a request. */
const PAUSE_MS = 150;

export type Picked =
  | { readonly kind: 'known'; readonly customer: Customer }
  | { readonly kind: 'new'; readonly name: string };

interface CustomerPickerProps {
  readonly picked: Picked | null;
  readonly onPick: (picked: Picked | null) => void;
  readonly mayAdd: boolean;
}

export function CustomerPicker({ picked, onPick, mayAdd }: CustomerPickerProps) {
  const id = useId();
  const [text, setText] = useState(picked?.kind === 'known' ? picked.customer.name : (picked?.name ?? ''));
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const q = useDelayed(text.trim());
  const found = useLoad(
    open ? `customer picker ${q}` : null,
    async (signal) => (await call('customer/list', { q, limit: 8 }, { signal })).value.items,
  );

  const known = found.data ?? [];
  const typed = text.trim();
  const offersNew =
    mayAdd && typed !== '' && !known.some((each) => each.name.toLowerCase() === typed.toLowerCase());
  const options: readonly Picked[] = [
    ...known.map((customer): Picked => ({ kind: 'known', customer })),
    ...(offersNew ? [{ kind: 'new', name: typed } as const] : []),
  ];
  const current = options[Math.min(at, options.length - 1)];

  const choose = (option: Picked) => {
    setText(option.kind === 'known' ? option.customer.name : option.name);
    setOpen(false);
    onPick(option);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setAt((before) => (options.length === 0 ? 0 : (before + step + options.length) % options.length));
    } else if (event.key === 'Enter' && open && current) {
      event.preventDefault();
      choose(current);
    } else if (event.key === 'Escape' && open) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };

  return (
    <div className="field picker">
      <label htmlFor={id}>Customer</label>
      <input
        id={id}
        type="text"
        role="combobox"
        autoComplete="off"
        required
        placeholder="Type a name"
        aria-expanded={open && options.length > 0}
        aria-controls={`${id}-options`}
        aria-autocomplete="list"
        aria-activedescendant={open && current ? `${id}-${optionKey(current)}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
          setOpen(true);
          onPick(null);
        }}
        onFocus={() => setOpen(picked === null)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKey}
      />
      {open && (
        <div className="options" id={`${id}-options`} role="listbox" aria-label="Customers">
          {options.map((option) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the input's, which keeps the focus in this pattern.
            <div
              key={optionKey(option)}
              id={`${id}-${optionKey(option)}`}
              role="option"
              tabIndex={-1}
              aria-selected={option === current}
              // Before the click the field would lose its focus, and the list would be gone.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(option)}
            >
              {option.kind === 'known' ? (
                <>
                  <span>{option.customer.name}</span>
                  <small>{option.customer.phone ?? option.customer.email}</small>
                </>
              ) : (
                <span>Add “{option.name}” as a new customer</span>
              )}
            </div>
          ))}
          {options.length === 0 && (
            <p className="options-none">
              {found.loading ? 'Looking…' : 'Type the name of your first customer.'}
            </p>
          )}
        </div>
      )}
    </div>
  );
}

function optionKey(option: Picked): string {
  return option.kind === 'known' ? option.customer.id : 'new';
}

function useDelayed(text: string): string {
  const [delayed, setDelayed] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return delayed;
}
