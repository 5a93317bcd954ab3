"""``tf.contrib.learn.preprocessing``: documents as rows of numbers, by a vocabulary or by their bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from actorsession.checkpoints.atomic import file_errors, read_regular, write_whole
from actorsession.checkpoints.seals import open_json, seal_json
from actorsession.errors import DataLossError

__all__ = ["ByteProcessor", "CategoricalVocabulary", "VocabularyProcessor", "tokenizer"]

# Words: capitals by themselves, words within camel case, and others with apostrophes and hyphens.
_WORD = re.compile(
    r"""[A-Z]{2,} (?![a-z])   # an acronym
      | [A-Z][a-z]+ (?=[A-Z]) # a word that another capital follows
      | [\w'\-]+              # any other""",
    re.VERBOSE,
)


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yield the words of each document.

    Args:
        iterator: the documents.
    """
    for text in iterator:
        yield _WORD.findall(text)


class CategoricalVocabulary:
    """Words by number; 0 is that of unknown words.

    Args:
        unknown_token: the word that stands for unknown ones.
        support_reverse: whether words are found by their numbers as well.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown = unknown_token
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._reverse_mapping: list[Any] = [unknown_token]
        self._has_reverse = support_reverse
        self._freq: Counter[Any] = Counter()
        self._frozen = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Take no new words from now on, or take them again.

        Args:
            freeze: whether to take none.
        """
        self._frozen = freeze

    def get(self, category: Any) -> int:
        """Return the number of a word, which gets one if it has none and the vocabulary takes new words.

        Args:
            category: the word.
        """
        number = self._mapping.get(category)
        if number is not None:
            return number
        if self._frozen:
            return 0
        self._mapping[category] = len(self._mapping)
        self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Count a word.

        Args:
            category: the word.
            count: how often it occurs.
        """
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Number the words anew, the most frequent first, without rare ones.

        Args:
            min_frequency: words that do not occur more often go.
            max_frequency: words that occur so often go as well; none if negative.
        """
        by_name = sorted(self._freq.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        kept = [
            (word, count)
            for word, count in sorted(by_name, key=lambda item: -item[1])
            if count > min_frequency and not 0 < max_frequency <= count
        ]
        self._reverse_mapping = [self._unknown, *(word for word, _ in kept)]
        self._mapping = {word: number for number, word in enumerate(self._reverse_mapping)}
        self._freq = Counter(dict(kept))

    def reverse(self, class_id: int) -> Any:
        """Return the word of a number.

        Args:
            class_id: the number.

        Raises:
            ValueError: if the vocabulary has no words by their numbers.
        """
        if not self._has_reverse:
            raise ValueError("This vocabulary wasn't initialized with support_reverse to support reverse() function.")
        return self._reverse_mapping[class_id]


class VocabularyProcessor:
    """Documents as rows of the numbers of their words.

    Args:
        max_document_length: length of a row; shorter ones are filled with 0.
        min_frequency: words that do not occur more often are unknown.
        vocabulary: the vocabulary; a new one if omitted.
        tokenizer_fn: from documents to lists of words; ``tokenizer`` if omitted.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[list[str]]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = CategoricalVocabulary() if vocabulary is None else vocabulary
        self._tokenizer = tokenizer if tokenizer_fn is None else tokenizer_fn

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learn the words of documents.

        Args:
            raw_documents: the documents.
            unused_y: accepted for compatibility.
        """
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Any, unused_y: Any = None) -> Iterator[Any]:
        """Learn the words of documents, and yield their rows; arguments as for ``fit``."""
        documents = list(raw_documents)
        self.fit(documents)
        return self.transform(documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Any]:
        """Yield the row of each document.

        Args:
            raw_documents: the documents.
        """
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for place, word in enumerate(words[: self.max_document_length]):
                row[place] = self.vocabulary_.get(word)
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yield the words of each row.

        Args:
            documents: the rows.
        """
        for row in documents:
            yield " ".join(str(self.vocabulary_.reverse(number)) for number in row)

    def save(self, filename: Any) -> None:
        """Write the processor to a file; a tokenizer of the program's own is not kept.

        Args:
            filename: the file.
        """
        words = self.vocabulary_
        content = {
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "words": words._reverse_mapping,
            "frozen": words._frozen,
            "counts": [words._freq[word] for word in words._reverse_mapping],
        }
        sealed = seal_json(content)
        write_whole(filename, lambda file: file.write(sealed))

    @classmethod
    def restore(cls, filename: Any) -> VocabularyProcessor:
        """Return a processor from a file that ``save`` wrote.

        Args:
            filename: the file.

        Raises:
            DataLossError: if it is another file, or damaged.
            OpError: if it cannot be read.
        """
        with file_errors(f"cannot read {filename!r}"):
            content = open_json(read_regular(filename), str(filename))
        try:
            processor = cls(content["max_document_length"], content["min_frequency"])
            unknown, *words = content["words"]
            processor.vocabulary_ = CategoricalVocabulary(unknown)
            for word, count in zip(words, content["counts"][1:], strict=True):
                processor.vocabulary_.add(word, count)
            processor.vocabulary_.freeze(content["frozen"])
        except (KeyError, TypeError, ValueError) as exc:
            raise DataLossError(f"{filename} was not written by save(): {exc!r:.200}") from exc
        return processor


class ByteProcessor:
    """Documents as rows of their bytes.

    Args:
        max_document_length: length of a row; shorter ones are filled with 0.
    """

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> ByteProcessor:
        """Do nothing; there is nothing to learn."""
        return self

    def fit_transform(self, x: Any) -> Iterator[Any]:
        """Yield the rows; see ``transform``."""
        return self.transform(x)

    def transform(self, x: Iterable[str]) -> Iterator[Any]:
        """Yield the row of each document.

        Args:
            x: the documents.
        """
        for text in x:
            row = np.zeros(self.max_document_length, np.uint8)
            content = text.encode()[: self.max_document_length]
            row[: len(content)] = np.frombuffer(content, np.uint8)
            yield row

    def reverse(self, x: Iterable[Any]) -> Iterator[str]:
        """Yield the text of each row.

        Args:
            x: the rows.
        """
        for row in x:
            yield bytes(row).rstrip(b"\0").decode(errors="replace")
