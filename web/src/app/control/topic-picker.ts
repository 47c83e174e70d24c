import { ChangeDetectionStrategy, Component, computed, input, model, signal } from '@angular/core';

import { counted } from '../status/durations';
import type { Topic } from './pointsman-api';

const MOST_SHOWN = 50;

/** A topic chosen from the broker's list by typing, or typed in full. A combobox by the book of ARIA. */
@Component({
  selector: 'pm-topic-picker',
  template: `
    <label [attr.for]="id()">{{ source() }} topic</label>
    <div class="box">
      <input
        #field
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck="false"
        aria-autocomplete="list"
        [id]="id()"
        [attr.aria-expanded]="open()"
        [attr.aria-controls]="id() + '-list'"
        [attr.aria-activedescendant]="open() && active() >= 0 ? id() + '-' + active() : null"
        [attr.aria-invalid]="known() ? null : true"
        [disabled]="disabled()"
        [value]="topic()"
        (input)="typed(field.value)"
        (focus)="show()"
        (blur)="open.set(false)"
        (keydown)="key($event)"
      />
      <ul role="listbox" [id]="id() + '-list'" [attr.aria-label]="source() + ' topics'" [hidden]="!open()">
        @for (candidate of shown(); track candidate.name; let i = $index) {
          <li
            role="option"
            [id]="id() + '-' + i"
            [attr.aria-selected]="candidate.name === topic()"
            [class.active]="i === active()"
            (pointerdown)="choose(candidate.name, $event)"
          >
            <span class="name">{{ candidate.name }}</span>
            <span class="muted number">{{ counted(candidate.partitions, 'partition') }} · {{ counted(candidate.records, 'record') }}</span>
          </li>
        }
      </ul>
    </div>
    @if (!known()) {
      <p class="hint">The broker has no topic of this name.</p>
    }
  `,
  styleUrl: './topic-picker.css',
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class TopicPicker {
  readonly source = input.required<string>();
  readonly topics = input.required<readonly Topic[]>();
  readonly disabled = input(false);
  readonly topic = model.required<string>();

  protected readonly open = signal(false);
  protected readonly active = signal(-1);
  private readonly narrowing = signal(false);
  protected readonly id = computed(() => `topic-${this.source()}`);
  protected readonly counted = counted;
  protected readonly known = computed(
    () => this.topics().length === 0 || this.topic().trim() === '' || this.topics().some(({ name }) => name === this.topic().trim()),
  );
  protected readonly shown = computed(() => {
    const words = this.narrowing() ? this.topic().toLowerCase().split(/\s+/) : [];
    return this.topics()
      .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
      .slice(0, MOST_SHOWN);
  });

  protected show(): void {
    this.narrowing.set(false);
    this.active.set(-1);
    this.open.set(true);
  }

  protected typed(text: string): void {
    this.narrowing.set(true);
    this.topic.set(text);
    this.active.set(-1);
    this.open.set(true);
  }

  protected choose(name: string, event?: Event): void {
    event?.preventDefault();
    this.topic.set(name);
    this.open.set(false);
  }

  protected key(event: KeyboardEvent): void {
    const last = this.shown().length - 1;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      this.open.set(true);
      this.active.update((at) => (event.key === 'ArrowDown' ? Math.min(last, at + 1) : Math.max(0, at - 1)));
    } else if (event.key === 'Enter' && this.open() && this.active() >= 0) {
      event.preventDefault();
      this.choose(this.shown()[this.active()]?.name ?? this.topic());
    } else if (event.key === 'Escape' && this.open()) {
      event.stopPropagation();
      this.open.set(false);
    }
  }
}
